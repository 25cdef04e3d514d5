// Which frames around the current one an item holds, by feature (LeRobot: delta_timestamps).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lerobot/config/features.hpp"
#include "lerobot/config/policy_config.hpp"
#include "lerobot/dataset/dataset_info.hpp"

namespace lerobot::dataset {

// feature -> frames relative to the current one; a feature that is not in it has no time axis.
using DeltaIndices = OrderedMap<std::vector<int64_t>>;

// Seconds to frames: round half to even of seconds * fps. Throws UsageError naming `key` and the values that are
// farther from a frame than tolerance_s seconds.
std::vector<int64_t> delta_indices_from_seconds(std::string_view key, std::span<const double> seconds, double fps,
                                                double tolerance_s);

// "action" takes the policy's action_delta_indices, every key starting with "observation." its
// observation_delta_indices. Keys are looked at under their new names (`rename_map`: dataset name -> policy name) and
// returned under the dataset's.
DeltaIndices resolve_delta_indices(const DatasetInfo& info, const PolicyConfig& policy, double tolerance_s = 1e-4,
                                   const OrderedMap<std::string>& rename_map = {});

}  // namespace lerobot::dataset
