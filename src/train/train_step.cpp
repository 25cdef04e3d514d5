#include "lerobot/train/train_step.hpp"

#include "lerobot/optim/grad_clip.hpp"
#include "lerobot/precision/autocast.hpp"

namespace lerobot::train {

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

TrainStep::Gradients TrainStep::finish_gradients() {
  if (options_.grad_clip_norm > 0) {
    torch::Tensor norm = optim::clip_grad_norm(parameters_, options_.grad_clip_norm).norm;
    torch::Tensor found_inf = optim::found_inf_from_norm(norm);
    return {std::move(norm), std::move(found_inf)};
  }
  return {std::nullopt, optim::found_inf_from_gradients(parameters_)};
}

StepResult TrainStep::operator()(const Batch& batch) {
  policy_.train();
  policy::TrainingOutput output = forward(batch);
  output.loss.backward();
  Gradients gradients = finish_gradients();
  optimizer_.step({}, gradients.found_inf);
  optimizer_.zero_grad();
  if (scheduler_ != nullptr) scheduler_->step();
  return {output.loss.detach(), std::move(gradients.norm), std::move(gradients.found_inf), std::move(output.metrics)};
}

}  // namespace lerobot::train
