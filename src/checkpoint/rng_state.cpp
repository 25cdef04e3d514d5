#include "lerobot/checkpoint/rng_state.hpp"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "lerobot/core/random.hpp"
#include "lerobot/device/generator.hpp"

namespace lerobot::checkpoint {
namespace {

constexpr const char* kTorchCpu = "torch_rng_state";

torch::Tensor as_integers(const std::array<uint32_t, Mt19937::kStateSize>& words, std::optional<int> position = {}) {
  std::vector<int64_t> values(words.begin(), words.end());
  if (position) values.push_back(*position);
  return torch::tensor(values, torch::kInt64);
}

torch::Tensor one_integer(int64_t value) {
  return torch::tensor({value}, torch::kInt64);
}

// "torch_cuda_rng_state", "torch_mps_rng_state".
std::string accelerator_key(torch::Device device) {
  return fmt::format("torch_{}_rng_state", c10::DeviceTypeName(device.type(), /*lower_case=*/true));
}

void set_state(torch::Device device, const torch::Tensor& state, const std::string& key, std::string_view source) {
  try {
    device::set_generator_state(device, state);
  } catch (const c10::Error& error) {
    throw UsageError(fmt::format("{}: LibTorch does not accept {}: {}", source, key, error.what_without_backtrace()));
  }
}

}  // namespace

TensorMap initial_rng_state(uint64_t seed) {
  const Mt19937 python = Mt19937::from_python_seed(seed);
  const Mt19937 numpy(static_cast<uint32_t>(seed));
  return {{"py_rng_version", one_integer(3)},
          {"py_rng_state", as_integers(python.state, python.index)},
          {"np_rng_state_values", as_integers(numpy.state)},
          {"np_rng_state_index", one_integer(numpy.index)},
          {"np_rng_has_gauss", one_integer(0)},
          {"np_rng_cached_gaussian", torch::zeros({1}, torch::kFloat32)}};
}

TensorMap capture_rng_state(const TensorMap& carried, torch::Device device) {
  TensorMap state = carried;
  state[kTorchCpu] = device::generator_state(torch::kCPU);
  if (!device.is_cpu()) state[accelerator_key(device)] = device::generator_state(device);
  return state;
}

void check_rng_state(const TensorMap& state, std::string_view source) {
  struct Required {
    const char* name;
    torch::ScalarType dtype;
    int64_t length;  // -1: any
  };
  constexpr Required kRequired[] = {
      {"py_rng_version", torch::kInt64, 1},
      {"py_rng_state", torch::kInt64, 625},
      {"np_rng_state_values", torch::kInt64, 624},
      {"np_rng_state_index", torch::kInt64, 1},
      {"np_rng_has_gauss", torch::kInt64, 1},
      {"np_rng_cached_gaussian", torch::kFloat32, 1},
      {kTorchCpu, torch::kUInt8, -1},
  };
  for (const Required& each : kRequired) {
    const auto found = state.find(each.name);
    if (found == state.end()) throw UsageError(fmt::format("{}: {} is missing", source, each.name));
    const torch::Tensor& tensor = found->second;
    const bool right_length = each.length < 0 || tensor.numel() == each.length;
    if (tensor.scalar_type() != each.dtype || tensor.dim() != 1 || !right_length) {
      throw UsageError(fmt::format("{}: {} must be {}[{}], got {} of shape {}", source, each.name,
                                   c10::toString(each.dtype), each.length < 0 ? "n" : std::to_string(each.length),
                                   c10::toString(tensor.scalar_type()), c10::str(tensor.sizes())));
    }
  }
}

void restore_rng_state(const TensorMap& state, torch::Device device, std::string_view source) {
  check_rng_state(state, source);
  set_state(torch::kCPU, state.at(kTorchCpu), kTorchCpu, source);
  if (device.is_cpu()) return;
  const std::string key = accelerator_key(device);
  const auto found = state.find(key);
  if (found == state.end()) {
    log::warning(fmt::format("{} holds no {} (its run used another device): the random numbers of {} do not continue",
                             source, key, device.str()));
    return;
  }
  set_state(device, found->second, key, source);
}

}  // namespace lerobot::checkpoint
