// The frame of the device check: what a check is, and helpers that several of them need.
#pragma once

#include <torch/types.h>

#include <optional>
#include <string>
#include <vector>

#include "lerobot/dataset/batch.hpp"
#include "lerobot/device/traits.hpp"
#include "lerobot/optim/optimizer.hpp"
#include "lerobot/policy/act/act_policy.hpp"
#include "lerobot/precision/grad_scaler.hpp"
#include "lerobot/precision/precision.hpp"

namespace device_check {

enum class Verdict { kPassed, kFailed, kNotChecked };

struct Outcome {
  Verdict verdict = Verdict::kPassed;
  std::string text;  // what was measured, or why it was not
};

Outcome passed_if(bool condition, std::string text);
Outcome not_checked(std::string why);

struct Check {
  const char* name;
  Outcome (*run)(const lerobot::device::DeviceTraits& device);
};

std::vector<Check> arithmetic_checks();  // one device against the CPU
std::vector<Check> training_checks();    // mixed precision, loss scaling, skipped updates

// A small ACT with one camera, without dropout; the same weights every time.
std::shared_ptr<lerobot::policy::ACTPolicy> small_act(c10::Device device);
lerobot::Batch small_batch(c10::Device device);
torch::Tensor small_eps(c10::Device device);  // for the latent's draw

std::vector<torch::Tensor> trained_parameters(const lerobot::policy::ACTPolicy& policy);
std::vector<torch::Tensor> copies(const std::vector<torch::Tensor>& tensors);
bool equal_bits(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b);

// |a - b| / |b| in the Frobenius norm, in float64 on the CPU.
double relative_error(const torch::Tensor& a, const torch::Tensor& b);

}  // namespace device_check
