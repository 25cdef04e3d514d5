#include "lerobot/device/generator.hpp"

#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>

#include <mutex>

namespace lerobot::device {
namespace {

at::Generator default_generator(c10::Device device) {
  if (!device.is_cpu() && !device.has_index()) device = {device.type(), at::accelerator::getDeviceIndex()};
  return at::globalContext().defaultGenerator(device);
}

}  // namespace

torch::Tensor generator_state(c10::Device device) {
  at::Generator generator = default_generator(device);
  const std::scoped_lock lock(generator.mutex());
  return generator.get_state();
}

void set_generator_state(c10::Device device, const torch::Tensor& state) {
  at::Generator generator = default_generator(device);
  const std::scoped_lock lock(generator.mutex());
  generator.set_state(state);
}

}  // namespace lerobot::device
