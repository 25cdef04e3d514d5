#include "policy/golden_case.hpp"

#include <gtest/gtest.h>
#include <torch/utils.h>

#include <cmath>

#include "lerobot/config/problems.hpp"
#include "lerobot/config/schema.hpp"

namespace lerobot::policy {
namespace {

// value_i = float(z_i >> 40, plus add) * 2^exp, z from splitmix64 of the seed.
torch::Tensor fill(const std::vector<int64_t>& shape, uint64_t seed, int64_t add, int exp) {
  auto tensor = torch::empty(shape, torch::kFloat32);
  float* values = tensor.mutable_data_ptr<float>();
  const float scale = std::ldexp(1.0F, exp);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    uint64_t z = seed + (static_cast<uint64_t>(i) + 1) * 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    z ^= z >> 31;
    values[i] = static_cast<float>(static_cast<int64_t>(z >> 40) + add) * scale;
  }
  return tensor;
}

torch::Tensor digest_of(const torch::Tensor& tensor) {
  const auto flat = tensor.detach().to(torch::kFloat64).flatten();
  auto digest = torch::zeros({12}, torch::kFloat64);
  digest[0] = flat.sum();
  digest[1] = flat.abs().sum();
  digest[2] = flat.square().sum().sqrt();
  digest[3] = static_cast<double>(flat.numel());
  const int64_t n = std::min<int64_t>(4, flat.numel());
  digest.slice(0, 4, 4 + n).copy_(flat.slice(0, 0, n));
  digest.slice(0, 8, 8 + n).copy_(flat.slice(0, flat.numel() - n));
  return digest;
}

}  // namespace

std::filesystem::path policies_data() {
  return std::filesystem::path(LEROBOT_TEST_DATA) / "policies";
}

ACTConfig read_act_config(Json json) {
  json.erase("type");
  ACTConfig config;
  config::Problems problems;
  config::read_section(json, config, problems);
  EXPECT_TRUE(problems.empty()) << problems.lines().front();
  return config;
}

GoldenCase::GoldenCase(const std::string& name)
    : folder(policies_data() / name),
      config(read_act_config(read_json(folder / "config.json"))),
      inputs(load_safetensors(folder / "inputs.safetensors")),
      outputs(load_safetensors(folder / "outputs.safetensors")),
      meta(read_json(folder / "meta.json")) {}

TensorMap GoldenCase::weights() const {
  if (std::filesystem::exists(folder / "model.safetensors")) return load_safetensors(folder / "model.safetensors");
  TensorMap tensors = load_safetensors(folder / "model_head.safetensors");
  for (const auto& entry : read_json(folder / "fill.json")) {
    tensors[entry.at("key")] = fill(entry.at("shape").get<std::vector<int64_t>>(), entry.at("seed").get<uint64_t>(),
                                    entry.at("add"), entry.at("exp"));
  }
  return tensors;
}

std::shared_ptr<ACTPolicy> GoldenCase::make_policy() const {
  auto policy = std::make_shared<ACTPolicy>(config);
  const LoadReport report = load_state_dict(*policy, weights());
  EXPECT_TRUE(report.missing.empty()) << report.missing.front();
  EXPECT_TRUE(report.unexpected.empty()) << report.unexpected.front();
  return policy;
}

Batch GoldenCase::batch(const std::string& prefix) const {
  Batch batch;
  for (const auto& [key, tensor] : inputs) {
    if (!key.starts_with(prefix + "/")) continue;
    batch.tensors[key.substr(prefix.size() + 1)] =
        tensor.scalar_type() == torch::kUInt8 ? tensor.to(torch::kFloat32) / 255 : tensor;
  }
  return batch;
}

std::vector<std::string> GoldenCase::outputs_of(const std::string& group) const {
  std::vector<std::string> names;
  for (const auto& [key, _] : outputs)
    if (key.starts_with(group + "/")) names.push_back(key.substr(group.size() + 1));
  return names;
}

void expect_close(const torch::Tensor& actual, const torch::Tensor& golden, Tolerance tolerance,
                  const std::string& what) {
  ASSERT_EQ(actual.sizes(), golden.sizes()) << what;
  const double limit = tolerance.relative * golden.abs().max().item<double>() + tolerance.absolute;
  const double error = (actual.detach().to(torch::kFloat64) - golden.to(torch::kFloat64)).abs().max().item<double>();
  EXPECT_LE(error, limit) << what;
}

void expect_digest_close(const torch::Tensor& actual, const torch::Tensor& golden, Tolerance tolerance,
                         bool compare_elements, const std::string& what) {
  const auto ours = digest_of(actual);
  const auto difference = (ours - golden).abs();
  const auto value = [](const torch::Tensor& t, int64_t i) { return t[i].item<double>(); };
  const double count = value(golden, 3);
  ASSERT_EQ(value(ours, 3), count) << what;
  const double sum_limit = tolerance.relative * value(golden, 1) + tolerance.absolute * std::sqrt(count);
  EXPECT_LE(value(difference, 0), sum_limit) << what << ": sum";
  EXPECT_LE(value(difference, 1), sum_limit) << what << ": sum of absolute values";
  EXPECT_LE(value(difference, 2), tolerance.relative * value(golden, 2) + tolerance.absolute) << what << ": norm";
  if (!compare_elements) return;
  const double scale = std::max(golden.slice(0, 4).abs().max().item<double>(), value(golden, 2) / std::sqrt(count));
  EXPECT_LE(difference.slice(0, 4).max().item<double>(), 4 * tolerance.relative * scale + 4 * tolerance.absolute)
      << what << ": elements";
}

}  // namespace lerobot::policy
