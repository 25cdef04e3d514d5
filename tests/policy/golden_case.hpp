// One golden case of tests/data/policies: what LeRobot 0.6.1 computed for a small ACT on the CPU. Weights, inputs and
// outputs are safetensors; a backbone's 45 MB of weights come from the integer rule of fill.json.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lerobot/core/json.hpp"
#include "lerobot/core/safetensors.hpp"
#include "lerobot/dataset/batch.hpp"
#include "lerobot/policy/act/act_policy.hpp"

namespace lerobot::policy {

std::filesystem::path policies_data();

// Reads a config.json or a part of one; fails the test on any problem.
ACTConfig read_act_config(Json json);

// What is allowed between a golden tensor and ours: relative * |golden|max + absolute.
struct Tolerance {
  double relative;
  double absolute;
};

struct GoldenCase {
  explicit GoldenCase(const std::string& name);

  TensorMap weights() const;                       // with the filled backbone
  std::shared_ptr<ACTPolicy> make_policy() const;  // holding weights()
  Batch batch(const std::string& prefix) const;    // inputs "<prefix>/..."; uint8 images become float
  std::vector<std::string> outputs_of(const std::string& group) const;  // names behind "<group>/"

  std::filesystem::path folder;
  ACTConfig config;
  TensorMap inputs;
  TensorMap outputs;
  Json meta;
};

// Expects |actual - golden| <= tolerance, elementwise; `what` goes in front of the failure.
void expect_close(const torch::Tensor& actual, const torch::Tensor& golden, Tolerance tolerance,
                  const std::string& what);

// A digest is [sum, sum|x|, sqrt(sum x^2), count, first four, last four] in float64 and stands for a big tensor.
// Sums may differ by relative * sum|x| + absolute * sqrt(count), the norm by relative * norm + absolute, elements by
// 4 * relative * max(largest element, rms) + 4 * absolute.
void expect_digest_close(const torch::Tensor& actual, const torch::Tensor& golden, Tolerance tolerance,
                         bool compare_elements, const std::string& what);

}  // namespace lerobot::policy
