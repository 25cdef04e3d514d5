// One device against the CPU: forward, gradients, TF32, memory, the driver's facts.
#include <ATen/Context.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/generated/variable_factories.h>

#include "check.hpp"
#include "lerobot/device/memory.hpp"
#include "lerobot/precision/tf32.hpp"

namespace device_check {
namespace {

using lerobot::device::DeviceTraits;
using lerobot::device::Platform;

constexpr const char* kNoAccelerator = "there is no accelerator here";

Outcome facts(const DeviceTraits& device) {
  if (device.platform == Platform::kCpu) return not_checked(kNoAccelerator);
  if (device.platform == Platform::kXpu || device.platform == Platform::kMps)
    return passed_if(device.total_bytes.has_value(), "memory total known");
  const bool rocm = at::globalContext().hasROCM();
  const bool complete = !device.name.empty() && device.total_bytes && device.compute_capability.has_value() != rocm;
  return passed_if(complete && rocm == (device.platform == Platform::kRocm),
                   fmt::format("platform {}, name `{}`, compute capability {}", to_string(device.platform), device.name,
                               device.compute_capability ? fmt::format("{}.{}", device.compute_capability->major,
                                                                       device.compute_capability->minor)
                                                         : "unknown"));
}

Outcome forward_equals_the_cpus(const DeviceTraits& device) {
  if (device.platform == Platform::kCpu) return not_checked(kNoAccelerator);
  lerobot::precision::set_tf32(false);
  const c10::Device cpu(c10::kCPU);
  const double error = relative_error(small_act(device.device)->predict_action_chunk(small_batch(device.device)),
                                      small_act(cpu)->predict_action_chunk(small_batch(cpu)));
  return passed_if(error < 1e-4, fmt::format("relative error of a float32 action chunk {:.1e}, below 1e-4", error));
}

Outcome gradients_equal_the_cpus(const DeviceTraits& device) {
  if (device.platform == Platform::kCpu) return not_checked(kNoAccelerator);
  lerobot::precision::set_tf32(false);
  std::array<std::vector<torch::Tensor>, 2> gradients;
  std::array<c10::Device, 2> devices = {device.device, c10::Device(c10::kCPU)};
  for (size_t i = 0; i < 2; ++i) {
    const auto policy = small_act(devices[i]);
    policy->training_forward(small_batch(devices[i]), small_eps(devices[i])).loss.backward();
    for (const torch::Tensor& parameter : trained_parameters(*policy))
      if (parameter.grad().defined()) gradients[i].push_back(parameter.grad().flatten().cpu());
  }
  const double error = relative_error(torch::cat(gradients[0]), torch::cat(gradients[1]));
  return passed_if(error < 1e-3, fmt::format("relative error of all gradients {:.1e}, below 1e-3", error));
}

double product_error(c10::Device device) {
  at::manual_seed(4);
  const auto a = torch::randn({1024, 1024});
  const auto b = torch::randn({1024, 1024});
  return relative_error(at::mm(a.to(device), b.to(device)), at::mm(a.to(torch::kFloat64), b.to(torch::kFloat64)));
}

double convolution_error(c10::Device device) {
  at::manual_seed(5);
  const auto x = torch::randn({8, 64, 32, 32});
  const auto w = torch::randn({64, 64, 3, 3});
  return relative_error(at::conv2d(x.to(device), w.to(device)),
                        at::conv2d(x.to(torch::kFloat64), w.to(torch::kFloat64)));
}

Outcome tf32_levels(const DeviceTraits& device) {
  if (device.platform != Platform::kCuda) return not_checked("TF32 is NVIDIA's");
  if (!device.compute_capability || device.compute_capability->major < 8)
    return not_checked("TF32 needs compute capability 8.0");
  lerobot::precision::set_tf32(true);
  const double product_on = product_error(device.device);
  const double convolution_on = convolution_error(device.device);
  lerobot::precision::set_tf32(false);
  const double product_off = product_error(device.device);
  const double convolution_off = convolution_error(device.device);
  // Which algorithm cuDNN takes is its choice, so what TF32 does to a convolution is shown and not judged.
  return passed_if(product_on > 1e-4 && product_off < 1e-5 && convolution_off < 1e-4,
                   fmt::format("relative error of a product of 1024: on {:.1e} (above 1e-4), off {:.1e} (below 1e-5); "
                               "of a convolution: on {:.1e}, off {:.1e} (below 1e-4)",
                               product_on, product_off, convolution_on, convolution_off));
}

Outcome peak_memory(const DeviceTraits& device) {
  namespace memory = lerobot::device;
  if (!memory::peak_memory_gib(device.device)) return not_checked("this device keeps no count");
  memory::reset_peak_memory(device.device);
  const double before = *memory::peak_memory_gib(device.device);
  {
    const auto held = torch::zeros({64, 1024, 1024}, torch::TensorOptions().device(device.device));  // 0.25 GiB
  }
  const double grown = *memory::peak_memory_gib(device.device) - before;
  memory::reset_peak_memory(device.device);
  const double after = *memory::peak_memory_gib(device.device) - before;
  return passed_if(grown > 0.24 && grown < 0.26 && after < 0.01,
                   fmt::format("0.25 GiB raised the peak by {:.3f} GiB, a reset left {:.3f}", grown, after));
}

}  // namespace

std::vector<Check> arithmetic_checks() {
  return {{"the driver's facts", facts},
          {"forward against the CPU", forward_equals_the_cpus},
          {"gradients against the CPU", gradients_equal_the_cpus},
          {"TF32", tf32_levels},
          {"peak memory", peak_memory}};
}

}  // namespace device_check
