#include "lerobot/eval/evaluation_scope.hpp"

#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>

#include <exception>
#include <mutex>
#include <string>

#include "lerobot/core/log.hpp"

namespace lerobot::eval {
namespace {

at::Generator default_generator(torch::Device device) {
  if (!device.is_cpu() && !device.has_index()) device = {device.type(), at::accelerator::getDeviceIndex()};
  return at::globalContext().defaultGenerator(device);
}

torch::Tensor state_of(torch::Device device) {
  at::Generator generator = default_generator(device);
  const std::scoped_lock lock(generator.mutex());
  return generator.get_state();
}

void set_state(torch::Device device, const torch::Tensor& state) {
  at::Generator generator = default_generator(device);
  const std::scoped_lock lock(generator.mutex());
  generator.set_state(state);
}

}  // namespace

EvaluationScope::EvaluationScope(policy::Policy& policy, torch::Device device)
    : policy_(policy), was_training_(policy.is_training()), device_(device), cpu_state_(state_of(torch::kCPU)) {
  if (!device_.is_cpu()) device_state_ = state_of(device_);
  policy_.eval();
}

EvaluationScope::~EvaluationScope() {
  try {
    policy_.reset();
    policy_.train(was_training_);
    set_state(torch::kCPU, cpu_state_);
    if (device_state_.defined()) set_state(device_, device_state_);
  } catch (const std::exception& error) {  // only a broken device gets here
    log::error(std::string("the random state from before the evaluation could not be put back: ") + error.what());
  }
}

}  // namespace lerobot::eval
