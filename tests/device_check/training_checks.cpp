// Mixed precision, loss scaling and skipped updates, on the device itself.
#include <fmt/format.h>
#include <torch/csrc/autograd/generated/variable_factories.h>

#include <cmath>
#include <limits>

#include "check.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/optim/grad_clip.hpp"
#include "lerobot/optim/optimizer_configs.hpp"
#include "lerobot/precision/autocast.hpp"

namespace device_check {
namespace {

using lerobot::device::DeviceTraits;
using lerobot::device::Platform;
using lerobot::precision::AutocastScope;
using lerobot::precision::GradScaler;
using lerobot::precision::Precision;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A small ACT with its optimizer, stepped as the trainer does.
struct Run {
  explicit Run(c10::Device device)
      : policy(small_act(device)), batch(small_batch(device)), eps(small_eps(device)), optimizer(config(), groups()) {}

  static lerobot::optim::AdamWConfig config() {
    lerobot::optim::AdamWConfig config;
    config.lr = 1e-3;
    return config;
  }
  std::vector<lerobot::optim::ParamGroup> groups() const { return {{trained_parameters(*policy), {}}}; }

  double loss(Precision precision) {
    const AutocastScope autocast(eps.device().type(), precision);
    return policy->training_forward(batch, eps).loss.item<double>();
  }

  // One update; factor multiplies the loss on top of the scale. Returns {found_inf, gradient norm}.
  std::pair<double, double> step(Precision precision, GradScaler* scaler, double factor = 1.0) {
    torch::Tensor loss;
    {
      const AutocastScope autocast(eps.device().type(), precision);
      loss = policy->training_forward(batch, eps).loss * factor;
    }
    (scaler != nullptr ? scaler->scale(loss) : loss).backward();
    torch::Tensor found_inf;
    if (scaler != nullptr) found_inf = scaler->unscale_(optimizer.gradients());
    const torch::Tensor norm = lerobot::optim::clip_grad_norm(optimizer.parameters(), 10.0).norm;
    if (scaler == nullptr) found_inf = lerobot::optim::found_inf_from_norm(norm);
    optimizer.step({}, found_inf);
    if (scaler != nullptr) scaler->update();
    optimizer.zero_grad();
    return {found_inf.item<double>(), norm.item<double>()};
  }

  std::shared_ptr<lerobot::policy::ACTPolicy> policy;
  lerobot::Batch batch;
  torch::Tensor eps;
  lerobot::optim::Optimizer optimizer;
};

// fp16 where the device runs it; on a CPU bf16 stands in, whose losses a scaler may scale as well.
Precision scaled_precision(const DeviceTraits& device) {
  return refuse_autocast(device, c10::kHalf) ? Precision::kBf16 : Precision::kFp16;
}

Outcome overflow_is_skipped(const DeviceTraits& device) {
  Run run(device.device);
  GradScaler scaler;
  const Precision precision = scaled_precision(device);
  const auto at_start = copies(run.optimizer.parameters());
  const bool first_applied =
      run.step(precision, &scaler).first == 0.0 && !equal_bits(at_start, run.optimizer.parameters());
  const auto before = copies(run.optimizer.parameters());
  const auto state_before = run.optimizer.state_tensors();
  std::vector<torch::Tensor> live;
  for (const auto& [name, tensor] : state_before) live.push_back(tensor);
  const auto state_copy = copies(live);
  const double scale_before = scaler.get_scale();
  const bool found = run.step(precision, &scaler, kInfinity).first == 1.0;
  std::vector<torch::Tensor> state_after;
  for (const auto& [name, tensor] : run.optimizer.state_tensors()) state_after.push_back(tensor);
  const bool untouched = equal_bits(before, run.optimizer.parameters()) && equal_bits(state_copy, state_after);
  const bool halved = scaler.get_scale() == scale_before / 2;
  const bool next_applied =
      run.step(precision, &scaler).first == 0.0 && !equal_bits(before, run.optimizer.parameters());
  return passed_if(
      first_applied && found && untouched && halved && next_applied,
      fmt::format("{}: applied {}; overflow found {}, weights and moments bit-equal {}, scale {:g} halved "
                  "{}; next applied {}",
                  to_string(precision), first_applied, found, untouched, scale_before, halved, next_applied));
}

Outcome large_scale_overflows_and_settles(const DeviceTraits& device) {
  if (const auto refusal = refuse_autocast(device, c10::kHalf)) return not_checked(refusal->reason);
  Run run(device.device);
  GradScaler scaler({.init_scale = std::ldexp(1.0, 40)});
  int skipped = 0;
  while (skipped < 40 && run.step(Precision::kFp16, &scaler).first == 1.0) ++skipped;
  return passed_if(skipped > 0 && skipped < 40 && scaler.get_scale() == std::ldexp(1.0, 40 - skipped),
                   fmt::format("from 2^40, {} updates were skipped until the scale was 2^{}", skipped,
                               static_cast<int>(std::log2(scaler.get_scale()))));
}

Outcome scale_survives_a_resume(const DeviceTraits& device) {
  const Precision precision = scaled_precision(device);
  GradScaler whole({.init_scale = 1024.0, .growth_interval = 3});
  Run run(device.device);
  run.step(precision, &whole);
  run.step(precision, &whole, kInfinity);
  run.step(precision, &whole);
  GradScaler resumed;
  resumed.load_state_dict(lerobot::parse_json(lerobot::to_python_json(whole.state_dict()), "state"), "state");
  Run other(device.device);
  bool equal = whole.state_dict() == resumed.state_dict();
  for (int i = 0; i < 3; ++i) {
    run.step(precision, &whole);
    other.step(precision, &resumed);
    equal = equal && whole.state_dict() == resumed.state_dict();
  }
  return passed_if(equal && whole.get_scale() == 1024.0, fmt::format("same scale over 3 updates, which grew it to "
                                                                     "{:g}",
                                                                     whole.get_scale()));
}

Outcome mixed_precision_is_close(const DeviceTraits& device, Precision precision) {
  if (const auto refusal = refuse_autocast(device, *autocast_dtype(precision))) return not_checked(refusal->reason);
  Run plain(device.device);
  Run mixed(device.device);
  GradScaler scaler({.init_scale = 1024.0});
  const auto [found_plain, norm] = plain.step(Precision::kNo, nullptr);
  const auto [found_mixed, mixed_norm] = mixed.step(precision, precision == Precision::kFp16 ? &scaler : nullptr);
  const double error = std::abs(mixed_norm - norm) / norm;
  const double loss = plain.loss(Precision::kNo);
  const double loss_error = std::abs(mixed.loss(precision) - loss) / loss;
  const double tolerance = precision == Precision::kFp16 ? 2e-2 : 5e-2;
  return passed_if(found_plain == 0.0 && found_mixed == 0.0 && error < tolerance && loss_error < tolerance,
                   fmt::format("against float32: gradient norm off by {:.1e}, loss after the step by {:.1e}, below {}",
                               error, loss_error, tolerance));
}
Outcome bf16_is_close(const DeviceTraits& device) {
  return mixed_precision_is_close(device, Precision::kBf16);
}
Outcome fp16_is_close(const DeviceTraits& device) {
  return mixed_precision_is_close(device, Precision::kFp16);
}

Outcome training_lowers_the_loss(const DeviceTraits& device) {
  const Precision precision = scaled_precision(device);
  Run run(device.device);
  GradScaler scaler;
  const double before = run.loss(precision);
  for (int i = 0; i < 20; ++i) run.step(precision, &scaler);
  const double after = run.loss(precision);
  return passed_if(after < 0.9 * before,
                   fmt::format("{}: {:.3f} to {:.3f} in 20 updates of one batch", to_string(precision), before, after));
}

// The fused kernel on the device against the CPU's, and its gate.
Outcome fused_adamw(const DeviceTraits& device) {
  const auto stepped = [](c10::Device where, float found_inf) {
    const auto options = torch::TensorOptions().device(where);
    at::manual_seed(6);
    auto weight = torch::randn({1000}).to(where).requires_grad_();
    weight.mutable_grad() = torch::randn({1000}).to(where) * 8;
    lerobot::optim::Optimizer optimizer(lerobot::optim::AdamWConfig(), {{{weight}, {}}});
    optimizer.step(torch::full({}, 8.0, options), torch::full({}, found_inf, options));
    const auto state = optimizer.state_tensors();
    const auto step = state.find("state/0/step");
    return std::pair{weight.detach().cpu(), step == state.end() ? 0.0 : step->second.item<double>()};
  };
  const auto [skipped, no_steps] = stepped(device.device, 1.0F);
  const auto [applied, one_step] = stepped(device.device, 0.0F);
  const auto [reference, reference_step] = stepped(c10::Device(c10::kCPU), 0.0F);
  at::manual_seed(6);
  const bool untouched = torch::equal(skipped, torch::randn({1000}));
  const double error = relative_error(applied, reference);
  return passed_if(untouched && no_steps == 0.0 && one_step == 1.0 && reference_step == 1.0 && error < 1e-6 &&
                       !torch::equal(applied, skipped),
                   fmt::format("found_inf 1 leaves the weights {}; else the relative error against the CPU is {:.1e}, "
                               "below 1e-6",
                               untouched, error));
}

Outcome refusals(const DeviceTraits& device) {
  std::string text;
  bool agree = true;
  for (const Precision precision : {Precision::kNo, Precision::kBf16, Precision::kFp16}) {
    bool accepted = true;
    try {
      lerobot::precision::resolve_precision(to_string(precision), device.device);
    } catch (const lerobot::UsageError&) {
      accepted = false;
    }
    const auto dtype = autocast_dtype(precision);
    agree = agree && accepted == !(dtype && refuse_autocast(device, *dtype));
    text += fmt::format("{} {}, ", to_string(precision), accepted ? "runs" : "is refused");
  }
  return passed_if(agree, text.substr(0, text.size() - 2));
}

}  // namespace

std::vector<Check> training_checks() {
  return {{"accepted precisions", refusals},
          {"fused AdamW with found_inf", fused_adamw},
          {"an overflow is skipped", overflow_is_skipped},
          {"a scale that is too large settles", large_scale_overflows_and_settles},
          {"the scale survives a resume", scale_survives_a_resume},
          {"bf16", bf16_is_close},
          {"fp16", fp16_is_close},
          {"training lowers the loss", training_lowers_the_loss}};
}

}  // namespace device_check
