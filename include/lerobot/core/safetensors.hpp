// The safetensors format: u64 little-endian header length, JSON header, raw little-endian tensors.
// Format: https://github.com/huggingface/safetensors#format
#pragma once

#include <torch/types.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lerobot/core/file_system.hpp"

namespace lerobot {

using TensorMap = std::map<std::string, torch::Tensor>;

// An open file, read tensor by tensor. The header is checked in full when opened: length within the file, dtype, shape
// and span in agreement (checked arithmetic), no overlap or hole, nothing after the last tensor, UTF-8 names, none
// twice. Dtypes: BOOL U8 I8 I16 I32 I64 F16 BF16 F32 F64. Throws UsageError naming the file and the entry.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;

  const std::vector<std::string>& names() const;  // in header order
  bool contains(const std::string& name) const;
  // A tensor that owns its memory. Throws UsageError when it is absent or the file became shorter after it was opened.
  torch::Tensor tensor(const std::string& name) const;
  TensorMap tensors() const;
  const std::map<std::string, std::string>& metadata() const;  // "__metadata__", may be empty

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

TensorMap load_safetensors(const std::filesystem::path& path);

// Writes through `files`, synced. Tensors go out contiguous from the CPU, one at a time, ordered as Python's library
// orders them (dtype from wide to narrow: I64 F64 F32 I32 BF16 F16 I16 I8 U8 BOOL; then name), the header padded with
// spaces to 8 bytes. Names that share memory are each written in full. The bytes equal those of safetensors.torch.save.
// Throws RunError with the path when the disk refuses, and naming the entry when its dtype has no place in the format.
void save_safetensors(FileSystem& files, const std::filesystem::path& path, const TensorMap& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace lerobot
