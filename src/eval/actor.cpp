#include "lerobot/eval/actor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/utils.h>

#include <utility>
#include <vector>

#include "lerobot/core/error.hpp"
#include "lerobot/precision/autocast.hpp"

namespace lerobot::eval {
namespace {

std::string names(const Batch& batch, const processor::RenameMap& rename_map) {
  std::vector<std::string> keys;
  for (const auto& [key, tensor] : batch.tensors) {
    const std::string* const renamed = rename_map.find(key);
    keys.push_back(renamed ? fmt::format("{} (renamed to {})", key, *renamed) : key);
  }
  return keys.empty() ? "nothing" : fmt::format("{}", fmt::join(keys, ", "));
}

[[noreturn]] void refuse_missing(const std::string& input, const std::string& environment, const std::string& offered) {
  throw UsageError(fmt::format(
      "the policy reads `{}`, which the environment {} does not give; it gives {}. If one of these is meant, say so "
      "with --rename_map='{{\"<name there>\": \"{}\"}}'; otherwise choose other observations (--env.obs_type) or the "
      "environment that the policy was trained for",
      input, environment, offered, input));
}

// Vectors must have the policy's size. Pictures may have another height and width, which convolutions take.
void check_shape(const std::string& input, const PolicyFeature& feature, const torch::Tensor& tensor,
                 const std::string& environment) {
  const std::vector<int64_t> shape = tensor.sizes().slice(1).vec();
  const bool is_picture = feature.type == FeatureType::kVisual;
  const bool is_one_number = shape.empty() && feature.shape == std::vector<int64_t>{1};
  const bool fits = is_picture ? shape.size() == 3 && !feature.shape.empty() && shape[0] == feature.shape[0]
                               : shape == feature.shape || is_one_number;
  if (fits) return;
  throw UsageError(fmt::format("the policy reads `{}` of shape [{}], the environment {} gives [{}]", input,
                               fmt::join(feature.shape, ", "), environment, fmt::join(shape, ", ")));
}

// The observation that `input` is after renaming, or null.
const torch::Tensor* find_input(const Batch& observations, const processor::RenameMap& rename_map,
                                const std::string& input) {
  for (const auto& [key, tensor] : observations.tensors) {
    const std::string* const renamed = rename_map.find(key);
    if ((renamed ? *renamed : key) == input) return &tensor;
  }
  return nullptr;
}

void check_inputs(const PolicyConfig& config, const processor::RenameMap& rename_map, const Batch& observations,
                  const std::string& environment) {
  if (!config.input_features) return;
  for (const auto& [input, feature] : *config.input_features) {
    const torch::Tensor* const tensor = find_input(observations, rename_map, input);
    if (!tensor) refuse_missing(input, environment, names(observations, rename_map));
    check_shape(input, feature, *tensor, environment);
  }
}

}  // namespace

PolicyActor::PolicyActor(policy::Policy& policy, processor::PolicyProcessors& processors, torch::Device device,
                         precision::Precision precision)
    : policy_(policy), processors_(processors), device_(device), precision_(precision) {}

void PolicyActor::reset() {
  policy_.reset();
}

torch::Tensor PolicyActor::act(Batch observations, const std::string& environment) {
  // Not inference mode: what the normalizer keeps for the device may be used by training afterwards.
  const torch::NoGradGuard no_grad;
  check_inputs(policy_.config(), processors_.config().rename_map, observations, environment);
  const Batch inputs = processors_.preprocess(std::move(observations));

  torch::Tensor action;
  {
    const precision::AutocastScope autocast(device_.type(), precision_);
    action = policy_.select_action(inputs);
  }
  if (precision_ != precision::Precision::kNo) action = action.to(torch::kFloat32);
  return processors_.postprocess(action);
}

}  // namespace lerobot::eval
