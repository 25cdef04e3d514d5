// Lists the policies of the installed package, builds an ACT, and runs one training step on made-up observations.
#include <torch/torch.h>

#include <cmath>
#include <iostream>

#include "lerobot/device/backends.hpp"
#include "lerobot/policy/registry.hpp"

int main() {
  lerobot::device::load_backends();  // before any other call that touches a tensor
  torch::manual_seed(0);

  const lerobot::policy::PolicyRegistry registry = lerobot::policy::register_policies();
  for (const auto& [name, entry] : registry) std::cout << "policy: " << name << '\n';

  auto config = registry.at("act").make_config();
  config->input_features = lerobot::FeatureMap{{"observation.state", {lerobot::FeatureType::kState, {2}}},
                                               {"observation.environment_state", {lerobot::FeatureType::kEnv, {16}}}};
  config->output_features = lerobot::FeatureMap{{"action", {lerobot::FeatureType::kAction, {2}}}};
  const auto policy = lerobot::policy::make_policy(registry, std::move(config));

  lerobot::Batch batch;
  batch.tensors["observation.state"] = torch::randn({4, 2});
  batch.tensors["observation.environment_state"] = torch::randn({4, 16});
  batch.tensors["action"] = torch::randn({4, 100, 2});
  batch.tensors["action_is_pad"] = torch::zeros({4, 100}, torch::kBool);
  const lerobot::policy::TrainingOutput output = policy->training_forward(batch);
  output.loss.backward();

  const double loss = output.loss.item<double>();
  std::cout << "loss: " << loss << '\n';
  return std::isfinite(loss) ? 0 : 1;
}
