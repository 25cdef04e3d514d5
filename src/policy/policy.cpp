#include "lerobot/policy/policy.hpp"

#include <fmt/format.h>
#include <torch/utils.h>

#include "lerobot/core/error.hpp"
#include "lerobot/core/text.hpp"
#include "policy_shapes.hpp"

namespace lerobot::policy {
namespace {

constexpr std::string_view kBatchesTracked = "num_batches_tracked";

// True for the counter of a BatchNorm2d whose place is taken by a frozen batch norm here, which has no counter.
// LeRobot drops it silently too.
bool is_counter_of_frozen_norm(const std::string& name, const TensorMap& own) {
  if (!name.ends_with(fmt::format(".{}", kBatchesTracked))) return false;
  return own.count(name.substr(0, name.size() - kBatchesTracked.size()) + "running_mean") != 0;
}

bool can_be_copied(const torch::Tensor& from, const torch::Tensor& to) {
  return from.scalar_type() == to.scalar_type() || (from.is_floating_point() && to.is_floating_point());
}

// LeRobot before 0.4 kept the statistics of normalisation as buffers of three modules.
bool is_old_normalization(const std::string& name) {
  return name.starts_with("normalize_inputs.") || name.starts_with("normalize_targets.") ||
         name.starts_with("unnormalize_outputs.");
}

std::string describe(const torch::Tensor& tensor) {
  return fmt::format("{} [{}]", c10::toString(tensor.scalar_type()), fmt::join(tensor.sizes().vec(), ", "));
}

// Throws when a tensor cannot be copied to its namesake, or when there is no namesake at all.
void check_tensors(const Policy& policy, const TensorMap& own, const TensorMap& tensors, std::string_view source) {
  std::vector<std::string> problems;
  std::vector<ShapeMismatch> shapes;
  bool any_fits = false;
  for (const auto& [name, tensor] : tensors) {
    const auto found = own.find(name);
    if (found == own.end()) continue;
    any_fits = true;
    const torch::Tensor& to = found->second;
    if (tensor.sizes() == to.sizes() && can_be_copied(tensor, to)) continue;
    problems.push_back(fmt::format("  {}: the file has {}, the policy needs {}", name, describe(tensor), describe(to)));
    shapes.push_back({.name = name, .file = tensor.sizes().vec(), .policy = to.sizes().vec()});
  }
  if (!any_fits && !own.empty()) {
    throw UsageError(fmt::format(
        "{}: these are not the weights of the policy that its config.json and the flags describe (type {}): none of "
        "its {} tensors{} is one of the policy's {} ({}, ...)",
        source, policy.config().type(), tensors.size(),
        tensors.empty() ? "" : fmt::format(" ({}, ...)", tensors.begin()->first), own.size(), own.begin()->first));
  }
  if (problems.empty()) return;
  const auto reasons = explain_shapes(policy.config(), shapes);
  throw UsageError(fmt::format("{}: {} tensor{} not fit the policy that its config.json and the flags describe:\n{}{}",
                               source, problems.size(), problems.size() == 1 ? " does" : "s do", join(problems, "\n"),
                               reasons.empty() ? "" : "\nMost likely: " + join(reasons, "; ")));
}

}  // namespace

TensorMap state_dict(const Policy& policy) {
  TensorMap tensors;
  for (const auto& parameter : policy.named_parameters()) tensors.emplace(parameter.key(), parameter.value().detach());
  for (const auto& buffer : policy.named_buffers()) tensors.emplace(buffer.key(), buffer.value().detach());
  return tensors;
}

LoadReport load_state_dict(Policy& policy, const TensorMap& tensors, std::string_view source) {
  const TensorMap own = state_dict(policy);
  check_tensors(policy, own, tensors, source);

  LoadReport report;
  for (const auto& [name, tensor] : tensors) {
    if (own.count(name) != 0 || is_counter_of_frozen_norm(name, own)) continue;
    (is_old_normalization(name) ? report.superseded : report.unexpected).push_back(name);
  }
  torch::NoGradGuard no_grad;
  for (const auto& [name, to] : own) {
    const auto found = tensors.find(name);
    if (found == tensors.end()) {
      report.missing.push_back(name);
      continue;
    }
    if (found->second.scalar_type() != to.scalar_type()) ++report.converted[found->second.scalar_type()];
    to.copy_(found->second);
  }
  return report;
}

}  // namespace lerobot::policy
