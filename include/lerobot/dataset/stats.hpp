// Statistics of a dataset's features, as the normalizer reads them.
#pragma once

#include <torch/types.h>

#include <map>
#include <string>

namespace lerobot {

// feature -> stat ("min", "max", "mean", "std", "count", "q01", "q10", "q50", "q90", "q99") -> tensor.
// float32 on the CPU; vectors [D], scalars [1], cameras [C, 1, 1]; "count" [1].
using FeatureStats = std::map<std::string, std::map<std::string, torch::Tensor>>;

}  // namespace lerobot
