#include "check.hpp"

#include <ATen/Context.h>
#include <torch/csrc/autograd/generated/variable_factories.h>

namespace device_check {

using lerobot::FeatureType;

Outcome passed_if(bool condition, std::string text) {
  return {condition ? Verdict::kPassed : Verdict::kFailed, std::move(text)};
}

Outcome not_checked(std::string why) {
  return {Verdict::kNotChecked, std::move(why)};
}

std::shared_ptr<lerobot::policy::ACTPolicy> small_act(c10::Device device) {
  lerobot::policy::ACTConfig config;
  config.chunk_size = config.n_action_steps = 8;
  config.dim_model = 64;
  config.n_heads = 4;
  config.dim_feedforward = 128;
  config.n_encoder_layers = config.n_vae_encoder_layers = 2;
  config.latent_dim = 8;
  config.dropout = 0;
  config.pretrained_backbone_weights.reset();
  config.input_features = lerobot::FeatureMap{{"observation.state", {FeatureType::kState, {6}}},
                                              {"observation.images.top", {FeatureType::kVisual, {3, 64, 64}}}};
  config.output_features = lerobot::FeatureMap{{"action", {FeatureType::kAction, {6}}}};
  at::manual_seed(1);
  auto policy = std::make_shared<lerobot::policy::ACTPolicy>(config);
  policy->to(device);
  policy->train();
  return policy;
}

lerobot::Batch small_batch(c10::Device device) {
  at::manual_seed(2);
  lerobot::Batch batch;
  batch.tensors["observation.state"] = torch::randn({4, 6}).to(device);
  batch.tensors["observation.images.top"] = torch::rand({4, 3, 64, 64}).to(device);
  batch.tensors["action"] = torch::randn({4, 8, 6}).to(device);
  batch.tensors["action_is_pad"] = torch::zeros({4, 8}, torch::kBool).to(device);
  return batch;
}

torch::Tensor small_eps(c10::Device device) {
  at::manual_seed(3);
  return torch::randn({4, 8}).to(device);
}

std::vector<torch::Tensor> trained_parameters(const lerobot::policy::ACTPolicy& policy) {
  std::vector<torch::Tensor> parameters;
  for (const auto& group : policy.parameter_groups())
    parameters.insert(parameters.end(), group.parameters.begin(), group.parameters.end());
  return parameters;
}

std::vector<torch::Tensor> copies(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> copied;
  for (const torch::Tensor& tensor : tensors) copied.push_back(tensor.detach().cpu().clone());
  return copied;
}

bool equal_bits(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!torch::equal(a[i].detach().cpu(), b[i].detach().cpu())) return false;
  return true;
}

double relative_error(const torch::Tensor& a, const torch::Tensor& b) {
  const torch::Tensor exact = b.detach().cpu().to(torch::kFloat64);
  const torch::Tensor difference = a.detach().cpu().to(torch::kFloat64) - exact;
  return (difference.norm() / exact.norm()).item<double>();
}

}  // namespace device_check
