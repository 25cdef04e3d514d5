#include "lerobot/policy/policy.hpp"

#include <fmt/format.h>
#include <torch/utils.h>

#include "lerobot/core/error.hpp"
#include "lerobot/core/text.hpp"

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

std::string describe(const torch::Tensor& tensor) {
  return fmt::format("{} [{}]", c10::toString(tensor.scalar_type()), fmt::join(tensor.sizes().vec(), ", "));
}

}  // namespace

TensorMap state_dict(const Policy& policy) {
  TensorMap tensors;
  for (const auto& parameter : policy.named_parameters()) tensors.emplace(parameter.key(), parameter.value().detach());
  for (const auto& buffer : policy.named_buffers()) tensors.emplace(buffer.key(), buffer.value().detach());
  return tensors;
}

LoadReport load_state_dict(Policy& policy, const TensorMap& tensors) {
  const TensorMap own = state_dict(policy);
  LoadReport report;
  std::vector<std::string> problems;
  for (const auto& [name, tensor] : tensors) {
    const auto found = own.find(name);
    if (found == own.end()) {
      if (!is_counter_of_frozen_norm(name, own)) report.unexpected.push_back(name);
    } else if (tensor.sizes() != found->second.sizes() || !can_be_copied(tensor, found->second)) {
      problems.push_back(
          fmt::format("  {}: the file has {}, the policy needs {}", name, describe(tensor), describe(found->second)));
    }
  }
  if (!problems.empty()) {
    throw UsageError(fmt::format(
        "{} tensor{} of the checkpoint do not fit the policy that its config.json and the flags describe:\n{}",
        problems.size(), problems.size() == 1 ? "" : "s", join(problems, "\n")));
  }

  torch::NoGradGuard no_grad;
  for (const auto& [name, to] : own) {
    const auto found = tensors.find(name);
    if (found == tensors.end()) {
      report.missing.push_back(name);
    } else {
      to.copy_(found->second);
    }
  }
  return report;
}

}  // namespace lerobot::policy
