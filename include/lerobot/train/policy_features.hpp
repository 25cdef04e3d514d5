// Fits a policy's features to a dataset's.
#pragma once

#include <string>
#include <vector>

#include "lerobot/config/policy_config.hpp"
#include "lerobot/dataset/dataset_info.hpp"
#include "lerobot/processor/pipeline.hpp"

namespace lerobot::train {

// LeRobot's rule (policies/factory.py, make_policy): outputs are always the dataset's actions; inputs are the dataset's
// other features unless the configuration names its own. The dataset's features are taken under the names that
// `rename_map` (--rename_map: dataset name -> policy name) gives them. Throws UsageError when the map names a feature
// that is not in the dataset or makes two of one name; listing both sides when a feature that the policy needs is not
// in the dataset or has another shape there; and for what the policy itself has against the result. Cameras of another
// frame size are taken as they are, with a warning, as LeRobot takes them.
void fit_features(PolicyConfig& policy, const dataset::DatasetInfo& info, const processor::RenameMap& rename_map = {});

// The dataset's names of the features that the policy reads and writes.
std::vector<std::string> dataset_names(const PolicyConfig& policy, const dataset::DatasetInfo& info,
                                       const processor::RenameMap& rename_map = {});

}  // namespace lerobot::train
