#include "lerobot/dataset/delta_timestamps.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "lerobot/core/error.hpp"

namespace lerobot::dataset {

std::vector<int64_t> delta_indices_from_seconds(std::string_view key, std::span<const double> seconds, double fps,
                                                double tolerance_s) {
  std::vector<int64_t> indices;
  std::vector<double> outside;
  for (double value : seconds) {
    const double frames = std::nearbyint(value * fps);
    if (!(std::abs(value * fps - frames) / fps <= tolerance_s)) outside.push_back(value);
    indices.push_back(static_cast<int64_t>(frames));
  }
  if (!outside.empty())
    throw UsageError(
        fmt::format("`{}`: the delta timestamps {} s are no multiple of 1/fps = 1/{} s within "
                    "--tolerance_s={}",
                    key, fmt::join(outside, ", "), fps, tolerance_s));
  return indices;
}

DeltaIndices resolve_delta_indices(const DatasetInfo& info, const PolicyConfig& policy, double tolerance_s,
                                   const OrderedMap<std::string>& rename_map) {
  const auto action = policy.action_delta_indices();
  const auto observation = policy.observation_delta_indices();
  DeltaIndices deltas;
  for (const FeatureSpec& feature : info.features) {
    const std::string* renamed = rename_map.find(feature.name);
    const std::string& key = renamed ? *renamed : feature.name;
    const auto& frames = key == "action" ? action : observation;
    if (!frames || (key != "action" && !key.starts_with("observation."))) continue;
    std::vector<double> seconds;
    for (int64_t frame : *frames) seconds.push_back(static_cast<double>(frame) / info.fps);
    deltas.set(feature.name, delta_indices_from_seconds(feature.name, seconds, info.fps, tolerance_s));
  }
  return deltas;
}

}  // namespace lerobot::dataset
