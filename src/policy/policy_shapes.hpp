// Why tensors of a checkpoint have other shapes than the policy's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lerobot/config/policy_config.hpp"

namespace lerobot::policy {

struct ShapeMismatch {
  std::string name;             // of the tensor
  std::vector<int64_t> file;    // its shape in the checkpoint
  std::vector<int64_t> policy;  // its shape in the policy
};

// The settings of `config` that most likely explain the mismatches, each with its value here and in the checkpoint, as
// sentences; empty when none does. A guess from the numbers: a size is explained by the integer field (or, in a tensor
// named for it, the feature) that has this size here, or a small multiple of it, as the checkpoint's is of one other
// number. The setting that explains most comes first.
std::vector<std::string> explain_shapes(const PolicyConfig& config, const std::vector<ShapeMismatch>& mismatches);

}  // namespace lerobot::policy
