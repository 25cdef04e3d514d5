#include "lerobot/train/policy_features.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "lerobot/config/problems.hpp"
#include "lerobot/core/log.hpp"
#include "lerobot/core/text.hpp"

namespace lerobot::train {
namespace {

std::string describe(const FeatureMap& features) {
  std::vector<std::string> parts;
  for (const auto& [name, feature] : features) {
    parts.push_back(fmt::format("{} {} [{}]", name, to_string(feature.type), fmt::join(feature.shape, ", ")));
  }
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string new_name(const std::string& name, const processor::RenameMap& rename_map) {
  const std::string* const to = rename_map.find(name);
  return to ? *to : name;
}

FeatureMap renamed(const FeatureMap& features, const processor::RenameMap& rename_map) {
  FeatureMap result;
  for (const auto& [name, feature] : features) result.set(new_name(name, rename_map), feature);
  return result;
}

void check_rename_map(const processor::RenameMap& rename_map, const dataset::DatasetInfo& info,
                      config::Problems& problems) {
  if (rename_map.empty()) return;
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::string>> sources;  // new name -> old names
  for (const dataset::FeatureSpec& feature : info.features) {
    names.push_back(feature.name);
    sources[new_name(feature.name, rename_map)].push_back(feature.name);
  }
  for (const auto& [from, to] : rename_map) {
    if (std::ranges::find(names, from) != names.end()) continue;
    problems.add(
        "rename_map",
        fmt::format("`{}` (to become `{}`) is not a feature of the dataset, which has {}. The map goes from the "
                    "dataset's names to the policy's.{}",
                    from, to, join(names, ", "), did_you_mean(from, names)));
  }
  for (const auto& [to, from] : sources) {
    if (from.size() < 2) continue;
    problems.add("rename_map",
                 fmt::format("gives {} features of the dataset ({}) the name `{}`; rename the others too, "
                             "to anything that the policy does not read",
                             from.size(), join(from, ", "), to));
  }
}

// What to type when a camera of the dataset that the policy does not read could stand for one that it misses.
std::string rename_hint(const FeatureMap& wanted, const FeatureMap& offered) {
  for (const auto& [name, feature] : wanted) {
    if (offered.contains(name)) continue;
    for (const auto& [candidate, other] : offered) {
      if (wanted.contains(candidate) || other.type != feature.type) continue;
      return fmt::format(
          "\nIf a feature only has another name in the dataset, say so: "
          "--rename_map='{{\"{}\": \"{}\"}}'",
          candidate, name);
    }
  }
  return "";
}

bool differs_in_frame_size_only(const PolicyFeature& wanted, const PolicyFeature& found) {
  return wanted.type == FeatureType::kVisual && found.type == FeatureType::kVisual && wanted.shape.size() == 3 &&
         found.shape.size() == 3 && wanted.shape.front() == found.shape.front();
}

// A policy may use a part of the dataset's features, but what it uses must be there in that shape.
void check_inputs(const FeatureMap& wanted, const FeatureMap& offered, const processor::RenameMap& rename_map,
                  bool can_rename, config::Problems& problems) {
  const size_t before = problems.lines().size();
  for (const auto& [name, feature] : wanted) {
    const PolicyFeature* const found = offered.find(name);
    if (found == nullptr) {
      const std::string* const renamed = rename_map.find(name);
      problems.add("input_features",
                   renamed ? fmt::format("the policy reads {}, which --rename_map calls {}", name, *renamed)
                           : fmt::format("the policy reads {}, which the dataset does not have", name));
    } else if (found->shape == feature.shape) {
      continue;
    } else if (differs_in_frame_size_only(feature, *found)) {
      log::warning(
          fmt::format("{}: the policy's configuration has frames of [{}], the dataset has [{}]; frames are used "
                      "in the dataset's size",
                      name, fmt::join(feature.shape, ", "), fmt::join(found->shape, ", ")));
    } else {
      problems.add("input_features", fmt::format("{} is [{}] in the policy and [{}] in the dataset", name,
                                                 fmt::join(feature.shape, ", "), fmt::join(found->shape, ", ")));
    }
  }
  if (problems.lines().size() > before) {
    problems.add_line(fmt::format("the policy's inputs: {}\nthe dataset's: {}{}", describe(wanted), describe(offered),
                                  can_rename ? rename_hint(wanted, offered) : ""));
  }
}

}  // namespace

void fit_features(PolicyConfig& policy, const dataset::DatasetInfo& info, const processor::RenameMap& rename_map) {
  config::Problems problems;
  check_rename_map(rename_map, info, problems);
  problems.throw_if_any();

  const dataset::PolicyFeatures features = dataset::policy_features(info);
  const FeatureMap inputs = renamed(features.inputs, rename_map);
  const auto scope = problems.enter("policy");
  if (!policy.input_features || policy.input_features->empty()) {
    policy.input_features = inputs;
  } else {
    check_inputs(*policy.input_features, inputs, rename_map, policy.pretrained_path.has_value(), problems);
  }
  policy.output_features = renamed(features.outputs, rename_map);
  policy.validate_features(problems);
  problems.throw_if_any();
}

std::vector<std::string> dataset_names(const PolicyConfig& policy, const dataset::DatasetInfo& info,
                                       const processor::RenameMap& rename_map) {
  std::vector<std::string> names;
  for (const dataset::FeatureSpec& feature : info.features) {
    const std::string name = new_name(feature.name, rename_map);
    const bool is_input = policy.input_features && policy.input_features->contains(name);
    const bool is_output = policy.output_features && policy.output_features->contains(name);
    if (is_input || is_output) names.push_back(feature.name);
  }
  return names;
}

}  // namespace lerobot::train
