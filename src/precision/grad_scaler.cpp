#include "lerobot/precision/grad_scaler.hpp"

#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "lerobot/core/error.hpp"
#include "lerobot/device/traits.hpp"

namespace lerobot::precision {
namespace {

// Below this no gradient survives: the smallest normal float32 is 1.2e-38 and 1/scale must stay finite.
constexpr double kSmallestUsableScale = 1e-30;

constexpr std::array kStateKeys = {"scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"};

// What is wrong with the options, as "field: rule, got value", or "".
std::string option_problem(const GradScalerOptions& options, std::string_view scale_name) {
  const auto is_finite_above = [](double value, double bound) { return std::isfinite(value) && value > bound; };
  if (!is_finite_above(options.init_scale, 0.0) ||
      options.init_scale > static_cast<double>(std::numeric_limits<float>::max()))
    return fmt::format("{}: must be above 0 and within float32, got {}", scale_name, options.init_scale);
  if (!is_finite_above(options.growth_factor, 1.0))
    return fmt::format("growth_factor: must be above 1, got {}", options.growth_factor);
  if (!(options.backoff_factor > 0.0 && options.backoff_factor < 1.0))
    return fmt::format("backoff_factor: must be above 0 and below 1, got {}", options.backoff_factor);
  if (options.growth_interval < 1)
    return fmt::format("growth_interval: must be at least 1, got {}", options.growth_interval);
  return "";
}

[[noreturn]] void refuse(std::string_view source, std::string_view problem) {
  throw UsageError(fmt::format("{}: {}", source, problem));
}

double read_float(const Json& state, const char* key, std::string_view source) {
  const Json& value = state.at(key);
  if (!value.is_number_float())
    refuse(source, fmt::format("`{}` must be a number with a decimal point, got {}", key, value.dump()));
  return value.get<double>();
}

int64_t read_integer(const Json& state, const char* key, std::string_view source) {
  const Json& value = state.at(key);
  if (!value.is_number_integer()) refuse(source, fmt::format("`{}` must be an integer, got {}", key, value.dump()));
  return value.get<int64_t>();
}

void require_exact_keys(const Json& state, std::string_view source) {
  if (!state.is_object()) refuse(source, "expected an object with the loss scaler's five fields");
  for (const char* key : kStateKeys)
    if (!state.contains(key)) refuse(source, fmt::format("`{}` is missing", key));
  for (const auto& [key, value] : state.items()) {
    if (std::find(kStateKeys.begin(), kStateKeys.end(), key) == kStateKeys.end())
      refuse(source, fmt::format("unknown field `{}`; expected scale, growth_factor, backoff_factor, growth_interval, "
                                 "_growth_tracker",
                                 key));
  }
}

}  // namespace

torch::Tensor unscale_and_find_non_finite(const std::vector<torch::Tensor>& gradients,
                                          const torch::Tensor& inverse_scale) {
  std::map<c10::ScalarType, std::vector<torch::Tensor>> by_dtype;  // the kernel takes one dtype at a time
  std::optional<c10::Device> device;
  for (const torch::Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    if (gradient.scalar_type() == c10::kHalf)
      throw RunError("cannot unscale float16 gradients: the weights must be float32 under fp16 mixed precision");
    if (device.value_or(gradient.device()) != gradient.device())
      throw RunError(fmt::format("gradients lie on two devices, {} and {}", device->str(), gradient.device().str()));
    device = gradient.device();
    by_dtype[gradient.scalar_type()].push_back(gradient);
  }
  if (!device) throw RunError("no parameter has a gradient: backward() has not run, or every parameter is frozen");
  torch::NoGradGuard no_grad;
  torch::Tensor found_inf = at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(*device));
  const torch::Tensor inverse_here = inverse_scale.to(*device, at::kFloat);
  for (auto& [dtype, tensors] : by_dtype)
    at::_amp_foreach_non_finite_check_and_unscale_(tensors, found_inf, inverse_here);
  return found_inf;
}

GradScaler::GradScaler(const GradScalerOptions& options, FoundInfReduction reduce_over_ranks)
    : options_(options), reduce_over_ranks_(std::move(reduce_over_ranks)) {
  const std::string problem = option_problem(options, "init_scale");
  if (!problem.empty()) throw UsageError("--accelerator.grad_scaler." + problem);
}

torch::Tensor GradScaler::scale(const torch::Tensor& loss) {
  if (!scale_.defined()) {
    const at::TensorOptions here = at::TensorOptions().device(loss.device());
    scale_ = at::full({}, options_.init_scale, here.dtype(at::kFloat));
    growth_tracker_ = at::full({}, init_growth_tracker_, here.dtype(at::kInt));
  }
  return loss * scale_;
}

torch::Tensor GradScaler::find_non_finite(const std::vector<torch::Tensor>& gradients,
                                          const torch::Tensor& inverse_scale) {
  if (found_inf_.defined())
    throw RunError("GradScaler: the gradients were already unscaled or checked since the last update()");
  torch::Tensor found_inf = unscale_and_find_non_finite(gradients, inverse_scale);
  if (reduce_over_ranks_) reduce_over_ranks_(found_inf);
  found_inf_ = found_inf;
  return found_inf;
}

torch::Tensor GradScaler::unscale_(const std::vector<torch::Tensor>& gradients) {
  // Inverted in double where the device has doubles, since a float32 division may be inexact there, as torch does.
  const torch::Tensor& scale = scale_tensor();
  const torch::Tensor inverse = device::computes_in_float64(scale.device())
                                    ? scale.to(at::kDouble).reciprocal().to(at::kFloat)
                                    : scale.reciprocal();
  return find_non_finite(gradients, inverse);
}

torch::Tensor GradScaler::check(const std::vector<torch::Tensor>& gradients) {
  return find_non_finite(gradients, at::ones({}, scale_tensor().options()));
}

void GradScaler::update() {
  if (!found_inf_.defined())
    throw RunError("GradScaler: update() without unscale_() or check() of the gradients before");
  at::_amp_update_scale_(scale_, growth_tracker_, found_inf_.to(scale_.device()), options_.growth_factor,
                         options_.backoff_factor, options_.growth_interval);
  found_inf_.reset();
}

const torch::Tensor& GradScaler::scale_tensor() const {
  if (!scale_.defined()) throw RunError("GradScaler: scale(loss) has not been called yet");
  return scale_;
}

double GradScaler::get_scale() const {
  return scale_.defined() ? scale_.item<double>() : options_.init_scale;
}

int64_t GradScaler::growth_tracker() const {
  return growth_tracker_.defined() ? growth_tracker_.item<int64_t>() : init_growth_tracker_;
}

void GradScaler::require_usable_scale() const {
  const double scale = get_scale();
  if (scale >= kSmallestUsableScale) return;
  throw RunError(fmt::format(
      "the fp16 loss scale has fallen to {:g}: every recent update overflowed and was skipped. The loss is not finite "
      "for a reason that scaling cannot cure; try --accelerator.mixed_precision=bf16 or =no, or a lower learning rate.",
      scale));
}

Json GradScaler::state_dict() const {
  Json state = Json::object();
  state["scale"] = get_scale();
  state["growth_factor"] = options_.growth_factor;
  state["backoff_factor"] = options_.backoff_factor;
  state["growth_interval"] = options_.growth_interval;
  state["_growth_tracker"] = growth_tracker();
  return state;
}

void GradScaler::load_state_dict(const Json& state, std::string_view source) {
  require_exact_keys(state, source);
  GradScalerOptions options;
  options.init_scale = read_float(state, "scale", source);
  options.growth_factor = read_float(state, "growth_factor", source);
  options.backoff_factor = read_float(state, "backoff_factor", source);
  options.growth_interval = read_integer(state, "growth_interval", source);
  const int64_t growth_tracker = read_integer(state, "_growth_tracker", source);
  if (const std::string problem = option_problem(options, "scale"); !problem.empty()) refuse(source, problem);
  if (growth_tracker < 0 || growth_tracker > std::numeric_limits<int32_t>::max())
    refuse(source, fmt::format("`_growth_tracker` must be at least 0, got {}", growth_tracker));

  options_ = options;
  init_growth_tracker_ = growth_tracker;
  if (scale_.defined()) {
    scale_.fill_(options.init_scale);
    growth_tracker_.fill_(growth_tracker);
  }
}

}  // namespace lerobot::precision
