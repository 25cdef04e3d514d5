#include "lerobot/train/train_step.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lerobot/core/error.hpp"
#include "lerobot/optim/grad_clip.hpp"
#include "lerobot/precision/autocast.hpp"

namespace lerobot::train {
namespace {

std::string gradient_name(size_t parameter) {
  return fmt::format("grad/{}", parameter);
}

}  // namespace

TrainStep::TrainStep(policy::Policy& policy, optim::Optimizer& optimizer, optim::Scheduler* scheduler,
                     StepOptions options)
    : policy_(policy),
      optimizer_(optimizer),
      scheduler_(scheduler),
      options_(options),
      parameters_(optimizer.parameters()) {}

policy::TrainingOutput TrainStep::forward(const Batch& batch) {
  const precision::AutocastScope autocast(options_.device.type(), options_.precision);
  return policy_.training_forward(batch);
}

// Clipping needs true gradients. Without it the optimizer's kernel divides by the scale itself.
TrainStep::Update TrainStep::update() {
  precision::GradScaler* const scaler = options_.scaler;
  Update update;
  std::optional<torch::Tensor> grad_scale;
  if (options_.grad_clip_norm > 0) {
    if (scaler != nullptr) update.found_inf = scaler->unscale_(optimizer_.gradients());
    update.grad_norm = optim::clip_grad_norm(parameters_, options_.grad_clip_norm).norm;
    if (scaler == nullptr) update.found_inf = optim::found_inf_from_norm(*update.grad_norm);
  } else if (scaler != nullptr) {
    update.found_inf = scaler->check(optimizer_.gradients());
    grad_scale = scaler->scale_tensor();
  } else {
    update.found_inf = optim::found_inf_from_gradients(parameters_);
  }
  optimizer_.step(grad_scale, update.found_inf);
  if (scaler != nullptr) scaler->update();
  optimizer_.zero_grad();
  return update;
}

StepResult TrainStep::operator()(const Batch& batch) {
  policy_.train();
  policy::TrainingOutput output = forward(batch);
  StepResult result{.loss = output.loss.detach(), .metrics = std::move(output.metrics)};
  torch::Tensor loss = std::move(output.loss);
  if (options_.accumulation_steps > 1) loss = loss / options_.accumulation_steps;
  if (options_.scaler != nullptr) loss = options_.scaler->scale(loss);
  // A NaN target can leave every gradient finite. Outside fp16, whose scale follows overflows alone, a loss that is not
  // finite makes them all NaN, so that the update is withheld: starts from 1 otherwise, as backward() does.
  loss.backward(options_.scaler == nullptr ? loss.detach() * 0 + 1 : torch::Tensor());
  if (++accumulated_steps_ == options_.accumulation_steps) {
    Update done = update();
    accumulated_steps_ = 0;
    result.grad_norm = std::move(done.grad_norm);
    result.found_inf = std::move(done.found_inf);
  }
  if (scheduler_ != nullptr) scheduler_->step();
  if (options_.scaler != nullptr) result.grad_scale = options_.scaler->scale_tensor().clone();
  return result;
}

TensorMap TrainStep::accumulated_gradients() const {
  TensorMap gradients;
  if (accumulated_steps_ == 0) return gradients;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].grad().defined()) gradients[gradient_name(i)] = parameters_[i].grad();
  }
  return gradients;
}

void TrainStep::resume_window(int64_t accumulated_steps, const TensorMap& gradients, std::string_view source) {
  size_t known = 0;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const auto gradient = gradients.find(gradient_name(i));
    if (gradient == gradients.end()) continue;
    ++known;
    if (gradient->second.sizes() != parameters_[i].sizes()) {
      throw UsageError(fmt::format("{}: {} has shape [{}], the policy's parameter [{}]", source, gradient->first,
                                   fmt::join(gradient->second.sizes(), ", "), fmt::join(parameters_[i].sizes(), ", ")));
    }
    parameters_[i].mutable_grad() =
        gradient->second.to(parameters_[i].options(), /*non_blocking=*/false, /*copy=*/true);
  }
  if (known != gradients.size()) {
    throw UsageError(fmt::format("{}: holds gradients of parameters that this policy does not have", source));
  }
  accumulated_steps_ = accumulated_steps;
}

}  // namespace lerobot::train
