#include "lerobot/train/policy_features.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "lerobot/config/problems.hpp"

namespace lerobot::train {
namespace {

std::string describe(const FeatureMap& features) {
  std::vector<std::string> parts;
  for (const auto& [name, feature] : features) {
    parts.push_back(fmt::format("{} {} [{}]", name, to_string(feature.type), fmt::join(feature.shape, ", ")));
  }
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

// A policy may use a part of the dataset's features, but what it uses must be there in that shape.
void check_inputs(const FeatureMap& wanted, const FeatureMap& offered, config::Problems& problems) {
  for (const auto& [name, feature] : wanted) {
    const PolicyFeature* const found = offered.find(name);
    if (found == nullptr) {
      problems.add("input_features", fmt::format("the policy reads {}, which the dataset does not have", name));
    } else if (found->shape != feature.shape) {
      problems.add("input_features", fmt::format("{} is [{}] in the policy and [{}] in the dataset", name,
                                                 fmt::join(feature.shape, ", "), fmt::join(found->shape, ", ")));
    }
  }
  if (!problems.empty()) {
    problems.add_line(fmt::format("the policy's inputs: {}\nthe dataset's: {}", describe(wanted), describe(offered)));
  }
}

}  // namespace

void fit_features(PolicyConfig& policy, const dataset::DatasetInfo& info) {
  const dataset::PolicyFeatures features = dataset::policy_features(info);
  config::Problems problems;
  const auto scope = problems.enter("policy");
  if (!policy.input_features || policy.input_features->empty()) {
    policy.input_features = features.inputs;
  } else {
    check_inputs(*policy.input_features, features.inputs, problems);
  }
  policy.output_features = features.outputs;
  policy.validate_features(problems);
  problems.throw_if_any();
}

}  // namespace lerobot::train
