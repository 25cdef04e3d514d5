#include "lerobot/device/device.hpp"

#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>
#include <ATen/Parallel.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "lerobot/core/error.hpp"

namespace lerobot::device {
namespace {

constexpr const char* kAccepted = "cpu, cuda, cuda:N, mps, xpu, xpu:N";
constexpr std::array kBestFirst = {DeviceKind::kCuda, DeviceKind::kMps, DeviceKind::kXpu, DeviceKind::kCpu};

struct Request {
  DeviceKind kind;
  std::optional<int> index;  // nullopt: the first
};

bool takes_index(DeviceKind kind) {
  return kind == DeviceKind::kCuda || kind == DeviceKind::kXpu;
}

// The index behind "cuda:". Digits only, at most three, no leading zero: what names a device and nothing else.
std::optional<int> parse_index(std::string_view text) {
  if (text.empty() || text.size() > 3 || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  int index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc{} || end != text.data() + text.size() || index < 0) return std::nullopt;
  return index;
}

std::optional<Request> parse_request(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const auto kind =
      std::find_if(kBestFirst.begin(), kBestFirst.end(), [&](DeviceKind k) { return to_string(k) == name; });
  if (kind == kBestFirst.end()) return std::nullopt;
  if (colon == std::string_view::npos) return Request{*kind, std::nullopt};
  const std::optional<int> index = parse_index(text.substr(colon + 1));
  if (!index || !takes_index(*kind)) return std::nullopt;
  return Request{*kind, index};
}

c10::Device make_device(DeviceKind kind, int index) {
  if (kind == DeviceKind::kCpu) return c10::Device(c10::kCPU);
  return c10::Device(to_device_type(kind), static_cast<c10::DeviceIndex>(index));
}

DeviceKind best_kind(const Availability& available) {
  return *std::find_if(kBestFirst.begin(), kBestFirst.end(),
                       [&](DeviceKind kind) { return available.count(kind) > 0; });
}

// Why the request cannot be met, or "".
std::string obstacle(const Request& request, const Availability& available) {
  const int count = available.count(request.kind);
  if (count == 0) return std::string(available.reason(request.kind));
  if (request.index.value_or(0) < count) return "";
  return fmt::format("only {} {} device{}, the highest is {}:{}", count, to_string(request.kind), count == 1 ? "" : "s",
                     to_string(request.kind), count - 1);
}

int guard_device_count(c10::DeviceType type) {
  return c10::impl::hasDeviceGuardImpl(type) ? c10::impl::getDeviceGuardImpl(type)->deviceCount() : 0;
}

const Backend* find_backend(const std::vector<Backend>& backends, std::string_view name) {
  const auto found = std::find_if(backends.begin(), backends.end(), [&](const Backend& b) { return b.name == name; });
  return found == backends.end() ? nullptr : &*found;
}

// Of several libraries that could serve one kind of device, the reason of the one that is installed counts.
std::string missing_reason(const std::vector<Backend>& backends, std::initializer_list<std::string_view> names) {
  std::string reason;
  for (const std::string_view name : names) {
    const Backend* backend = find_backend(backends, name);
    if (backend == nullptr || (!backend->present && !reason.empty())) continue;
    reason = backend->loaded ? fmt::format("libtorch_{} is loaded but sees no device", name) : backend->reason;
    if (backend->present) break;
  }
  return reason.empty() ? "this LibTorch was built without it" : reason;
}

}  // namespace

std::string_view to_string(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCuda:
      return "cuda";
    case DeviceKind::kMps:
      return "mps";
    case DeviceKind::kXpu:
      return "xpu";
    case DeviceKind::kCpu:
      break;
  }
  return "cpu";
}

c10::DeviceType to_device_type(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCuda:
      return c10::kCUDA;
    case DeviceKind::kMps:
      return c10::kMPS;
    case DeviceKind::kXpu:
      return c10::kXPU;
    case DeviceKind::kCpu:
      break;
  }
  return c10::kCPU;
}

int Availability::count(DeviceKind kind) const {
  switch (kind) {
    case DeviceKind::kCuda:
      return cuda_count;
    case DeviceKind::kMps:
      return mps ? 1 : 0;
    case DeviceKind::kXpu:
      return xpu_count;
    case DeviceKind::kCpu:
      break;
  }
  return 1;
}

std::string_view Availability::reason(DeviceKind kind) const {
  switch (kind) {
    case DeviceKind::kCuda:
      return cuda_reason;
    case DeviceKind::kMps:
      return mps_reason;
    case DeviceKind::kXpu:
      return xpu_reason;
    case DeviceKind::kCpu:
      break;
  }
  return "";
}

Availability availability_from(const std::vector<Backend>& backends, int cuda_count, int xpu_count, bool mps) {
  Availability available{.cuda_count = cuda_count, .xpu_count = xpu_count, .mps = mps};
  if (cuda_count == 0) available.cuda_reason = missing_reason(backends, {"cuda", "hip"});
  if (xpu_count == 0) available.xpu_reason = missing_reason(backends, {"xpu"});
  if (!mps) available.mps_reason = "MPS needs macOS on Apple silicon and a LibTorch built for it";
  return available;
}

Availability query() {
  const std::vector<Backend>& backends = load_backends();
  // Through the device guards: ROCm registers its guard as CUDA's, and a missing guard throws nothing.
  return availability_from(backends, guard_device_count(c10::kCUDA), guard_device_count(c10::kXPU), at::hasMPS());
}

c10::Device resolve_device(const std::optional<std::string>& asked, bool typed_on_command_line,
                           const Availability& available, std::vector<std::string>& warnings) {
  if (asked) {
    const std::optional<Request> request = parse_request(*asked);
    if (!request)
      throw UsageError(fmt::format("--policy.device: unknown device `{}`; accepted: {}", *asked, kAccepted));
    const std::string missing = obstacle(*request, available);
    if (missing.empty()) return make_device(request->kind, request->index.value_or(0));
    if (typed_on_command_line) {
      throw UsageError(fmt::format("--policy.device={} is not available: {}. Leave the flag out to use {}.", *asked,
                                   missing, to_string(best_kind(available))));
    }
    warnings.push_back(fmt::format("Device '{}' is not available ({}). Switching to '{}'.", *asked, missing,
                                   to_string(best_kind(available))));
  }
  const DeviceKind best = best_kind(available);
  if (best == DeviceKind::kCpu && !asked)
    warnings.push_back("No accelerator was found. The CPU is used, which is slow.");
  return make_device(best, 0);
}

std::string device_to_record(const std::optional<std::string>& asked, c10::Device resolved) {
  if (asked) {
    const std::optional<Request> request = parse_request(*asked);
    if (request && make_device(request->kind, request->index.value_or(0)) == resolved) return *asked;
  }
  return c10::DeviceTypeName(resolved.type(), /*lower_case=*/true);
}

std::string describe(c10::Device device) {
  if (device.is_cpu())
    return fmt::format("cpu, {} thread{}", at::get_num_threads(), at::get_num_threads() == 1 ? "" : "s");
  std::string text = device.str();
  const auto accelerator = at::getAccelerator();
  if (!accelerator || *accelerator != device.type()) return text;
  try {
    text += fmt::format(", {:.1f} GiB", at::accelerator::getMemoryInfo(device.index()).second / 1073741824.0);
  } catch (const c10::Error&) {
    // Not every backend can say.
  }
  return text + fmt::format(", {} of {}", device.index() + 1, at::accelerator::deviceCount());
}

void seed_everything(uint64_t seed) {
  at::manual_seed(seed);
}

void set_cudnn_deterministic(bool deterministic) {
  at::globalContext().setDeterministicCuDNN(deterministic);
  at::globalContext().setBenchmarkCuDNN(!deterministic);
}

}  // namespace lerobot::device
