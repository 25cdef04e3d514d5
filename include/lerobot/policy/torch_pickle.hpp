// Reads the files that torch.save writes for a state dict, without running anything that they name.
#pragma once

#include <filesystem>

#include "lerobot/core/safetensors.hpp"

namespace lerobot::policy {

// The tensors of a .pth file: a ZIP archive (PyTorch 1.6 and later) whose data.pkl is a pickled dict or OrderedDict of
// names to tensors or nn.Parameters, float32 or int64. Each tensor owns its memory.
//
// Pickle is a program; only the opcodes and the five globals that such files need are obeyed: collections.OrderedDict,
// torch._utils._rebuild_tensor_v2 and _rebuild_parameter, torch.FloatStorage and LongStorage, and the "storage"
// persistent id. Anything else is refused by name. Every size is checked against the archive before it is used.
// Throws UsageError naming the file.
TensorMap load_torch_checkpoint(const std::filesystem::path& path);

}  // namespace lerobot::policy
