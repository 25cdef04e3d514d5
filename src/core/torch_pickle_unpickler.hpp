// The reading half of pickle, as far as torch.save needs it. What archives hold tensors' bytes is not its business.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <string_view>

#include "lerobot/core/torch_pickle.hpp"

namespace lerobot {

// The elements of the storage `key`, one-dimensional: `count` of them, of the class `storage_class` ("torch.…Storage").
using StorageLoader = std::function<torch::Tensor(std::string_view storage_class, std::string_view key, int64_t count)>;

// Runs a data.pkl. Throws UsageError saying what is wrong with it; the caller adds the file.
PickleValue unpickle(std::string_view program, const StorageLoader& load_storage);

}  // namespace lerobot
