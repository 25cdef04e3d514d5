#include "lerobot/eval/evaluation_scope.hpp"

#include <exception>
#include <string>

#include "lerobot/core/log.hpp"
#include "lerobot/device/generator.hpp"

namespace lerobot::eval {

EvaluationScope::EvaluationScope(policy::Policy& policy, torch::Device device)
    : policy_(policy),
      was_training_(policy.is_training()),
      device_(device),
      cpu_state_(device::generator_state(torch::kCPU)) {
  if (!device_.is_cpu()) device_state_ = device::generator_state(device_);
  policy_.eval();
}

EvaluationScope::~EvaluationScope() {
  try {
    policy_.reset();
    policy_.train(was_training_);
    device::set_generator_state(torch::kCPU, cpu_state_);
    if (device_state_.defined()) device::set_generator_state(device_, device_state_);
  } catch (const std::exception& error) {  // only a broken device gets here
    log::error(std::string("the random state from before the evaluation could not be put back: ") + error.what());
  }
}

}  // namespace lerobot::eval
