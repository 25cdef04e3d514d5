// Fits a policy's features to a dataset's.
#pragma once

#include "lerobot/config/policy_config.hpp"
#include "lerobot/dataset/dataset_info.hpp"

namespace lerobot::train {

// LeRobot's rule (policies/factory.py, make_policy): outputs are always the dataset's actions; inputs are the dataset's
// other features unless the configuration names its own. Throws UsageError listing both sides when a feature that the
// policy needs is not in the dataset or has another shape there, and what the policy itself has against the result.
void fit_features(PolicyConfig& policy, const dataset::DatasetInfo& info);

}  // namespace lerobot::train
