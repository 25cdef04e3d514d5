// The guard against storing a broken model.
#pragma once

#include <optional>
#include <string>

#include "lerobot/core/safetensors.hpp"

namespace lerobot::checkpoint {

// The first floating tensor with a NaN or an infinity in it, by name. Reads on the calling thread alone: LibTorch's own
// operators would start a second pool of threads beside that of training.
std::optional<std::string> first_non_finite(const TensorMap& tensors);

}  // namespace lerobot::checkpoint
