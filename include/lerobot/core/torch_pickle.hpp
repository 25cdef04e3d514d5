// Files of torch.save (.pt, .pth): a ZIP archive (PyTorch 1.6 and later) whose data.pkl is a pickle of protocol 2 and
// whose records data/<key> hold the tensors' elements.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lerobot/core/file_system.hpp"
#include "lerobot/core/safetensors.hpp"

namespace lerobot {

// What such a file holds: Python's None, bool, int, float, str, tensor, list (or tuple) and dict (or OrderedDict) with
// str keys. Tensors are float32, float16, bfloat16 or int64.
struct PickleValue {
  using List = std::vector<PickleValue>;
  using Dict = std::vector<std::pair<std::string, PickleValue>>;  // in the file's order, no key twice
  std::variant<std::monostate, bool, int64_t, double, std::string, torch::Tensor, List, Dict> data;
};
static_assert(sizeof(PickleValue{}) > 0);  // clang before 16 completes Dict's pairs only after a PickleValue was made

// Reads without running anything that the file names. Pickle is a program; only the opcodes and the globals that such
// values need are obeyed: collections.OrderedDict, torch._utils._rebuild_tensor_v2 and _rebuild_parameter, the storage
// classes of the four dtypes, and the "storage" persistent id. Anything else is refused by name. Every size is checked
// against the archive before it is used. Tensors arrive in main memory, whatever device they were saved from, and own
// their memory. Throws UsageError naming the file.
PickleValue load_torch_pickle(const std::filesystem::path& path);

// A file whose top is a dict of names to tensors or nn.Parameters: a state dict. Throws as above.
TensorMap load_torch_checkpoint(const std::filesystem::path& path);

// Writes through `files`, synced, what torch.load(path, weights_only=True) reads. Tensors go out contiguous from the
// CPU, one at a time, and say "cpu" as their location; those that share memory are each written in full. Throws
// RunError with the path when the disk refuses, or for a tensor of another dtype.
void save_torch_pickle(FileSystem& files, const std::filesystem::path& path, const PickleValue& value);

}  // namespace lerobot
