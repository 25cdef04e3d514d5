#include "lerobot/device/report.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>

namespace lerobot::device {
namespace {

// The value of "NAME=value, " in the build settings; "" when there is none.
std::string_view setting(std::string_view config, std::string_view name) {
  const std::string key = fmt::format(" {}=", name);
  const size_t at = config.find(key);
  if (at == std::string_view::npos) return "";
  const std::string_view value = config.substr(at + key.size());
  return value.substr(0, value.find_first_of(",\n"));
}

bool is_on(std::string_view config, std::string_view name) {
  const std::string_view value = setting(config, name);
  return value == "ON" || value == "1";
}

double gib(uint64_t bytes) {
  return static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0);
}

// What a backend's line says after its name.
std::string state_of(const Backend& backend, const DeviceReport& report) {
  if (!backend.present) return "not in this LibTorch";
  if (!backend.loaded) return "not loaded: " + backend.reason;
  const std::string& nothing = backend.name == "xpu" ? report.available.xpu_reason : report.available.cuda_reason;
  if (!nothing.empty()) return nothing;
  if (report.driver_version.empty() || backend.name == "xpu") return "loaded";
  return backend.name == "hip" ? fmt::format("loaded, HIP {}", report.driver_version)
                               : fmt::format("loaded, the driver serves CUDA up to {}", report.driver_version);
}

// The lines about mixed precision below a device.
std::string precision_lines(const DeviceTraits& traits) {
  std::string accepted = "no";
  std::string refused;
  for (const auto& [name, dtype] : {std::pair{"bf16", c10::kBFloat16}, std::pair{"fp16", c10::kHalf}}) {
    const std::optional<Refusal> refusal = refuse_autocast(traits, dtype);
    if (refusal)
      refused += fmt::format("    not {}: {}\n", name, refusal->reason);
    else
      accepted += fmt::format(", {}", name);
  }
  return fmt::format("    mixed_precision: {}\n{}", accepted, refused);
}

std::string visibility_line(const VisibilityVariable& variable) {
  const std::string assignment = fmt::format("{}={}", variable.name, variable.value);
  if (variable.overruled_by.empty()) return fmt::format("{} is in force\n", assignment);
  return fmt::format("{} has no effect: {} takes its place\n", assignment, variable.overruled_by);
}

bool is_present(const std::vector<Backend>& backends, std::string_view name) {
  return std::any_of(backends.begin(), backends.end(), [&](const Backend& b) { return b.name == name && b.present; });
}

std::vector<VisibilityVariable> visibility_of(const std::vector<Backend>& backends) {
  std::vector<VisibilityVariable> all;
  for (const auto& [name, platform] :
       {std::pair{"cuda", Platform::kCuda}, std::pair{"hip", Platform::kRocm}, std::pair{"xpu", Platform::kXpu}}) {
    if (!is_present(backends, name)) continue;
    std::ranges::move(visibility_variables(platform, process_environment), std::back_inserter(all));
  }
  return all;
}

}  // namespace

LibTorchBuild parse_libtorch_build(std::string_view show_config, bool mps) {
  LibTorchBuild build{.version = std::string(setting(show_config, "TORCH_VERSION")), .flavour = mps ? "MPS" : "CPU"};
  if (is_on(show_config, "USE_CUDA")) build.flavour = fmt::format("CUDA {}", setting(show_config, "CUDA_VERSION"));
  if (is_on(show_config, "USE_XPU")) build.flavour = "XPU";
  if (is_on(show_config, "USE_ROCM")) build.flavour = "ROCm";
  if (build.version.empty()) build.version = "of unknown version";
  return build;
}

LibTorchBuild libtorch_build() {
  load_backends();  // the text asks the accelerators too
  return parse_libtorch_build(at::show_config(), at::hasMPS());
}

std::string to_text(const LibTorchBuild& build) {
  return fmt::format("LibTorch {}, {}", build.version, build.flavour);
}

std::optional<std::string> process_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

std::vector<VisibilityVariable> visibility_variables(Platform platform, const Environment& environment) {
  std::vector<VisibilityVariable> found;
  const auto add = [&](const char* name, const char* overruled_by) {
    if (const auto value = environment(name)) found.push_back({name, *value, overruled_by});
  };
  if (platform == Platform::kCuda) {
    add("CUDA_VISIBLE_DEVICES", "");
  } else if (platform == Platform::kRocm) {
    const bool hip = !environment("HIP_VISIBLE_DEVICES").value_or("").empty();
    add("ROCR_VISIBLE_DEVICES", "");
    if (hip) add("HIP_VISIBLE_DEVICES", "");
    add("CUDA_VISIBLE_DEVICES", hip ? "HIP_VISIBLE_DEVICES" : "");
  } else if (platform == Platform::kXpu) {
    add("ONEAPI_DEVICE_SELECTOR", "");
    add("ZE_AFFINITY_MASK", "");
  }
  return found;
}

std::string describe(const DeviceTraits& traits) {
  std::vector<std::string> parts;
  if (!traits.name.empty()) parts.push_back(traits.name);
  if (traits.compute_capability)
    parts.push_back(
        fmt::format("compute capability {}.{}", traits.compute_capability->major, traits.compute_capability->minor));
  if (traits.total_bytes) {
    std::string memory = fmt::format("{:.1f} GiB", gib(*traits.total_bytes));
    if (traits.free_bytes) memory += fmt::format(" ({:.1f} GiB free)", gib(*traits.free_bytes));
    parts.push_back(std::move(memory));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

DeviceReport inspect() {
  DeviceReport report;
  report.backends = load_backends();
  report.available = query();
  report.libtorch = libtorch_build();
  report.libtorch_directory = libtorch_directory().string();
  report.cpu_threads = at::get_num_threads();
  report.visibility = visibility_of(report.backends);
  for (const DeviceKind kind : {DeviceKind::kCuda, DeviceKind::kXpu, DeviceKind::kMps}) {
    for (int index = 0; index < report.available.count(kind); ++index) {
      const c10::Device device(to_device_type(kind), static_cast<c10::DeviceIndex>(index));
      report.devices.push_back(traits_of(device, /*with_free_memory=*/true));
    }
  }
  if (report.available.cuda_count > 0) {
    const Platform platform = platform_of(c10::Device(c10::kCUDA, 0), report.backends);
    report.driver_version = (platform == Platform::kRocm ? ask_hip_runtime() : ask_cuda_driver()).version;
  }
  return report;
}

std::string to_text(const DeviceReport& report) {
  std::string text = fmt::format("{}\n  {}\n\nBackends\n", to_text(report.libtorch), report.libtorch_directory);
  for (const Backend& backend : report.backends)
    text += fmt::format("  {:<5} {}\n", backend.name, state_of(backend, report));
  text += fmt::format("  {:<5} {}\n\nDevices\n", "mps",
                      report.available.mps ? "built in" : "not available: " + report.available.mps_reason);
  for (const DeviceTraits& traits : report.devices) {
    const std::string facts = describe(traits);
    text += fmt::format("  {}{}{}\n{}", traits.device.str(), facts.empty() ? "" : "  ", facts, precision_lines(traits));
  }
  text += fmt::format("  cpu  {} thread{}\n{}\n", report.cpu_threads, report.cpu_threads == 1 ? "" : "s",
                      precision_lines(DeviceTraits{}));
  for (const VisibilityVariable& variable : report.visibility) text += visibility_line(variable);
  std::vector<std::string> warnings;  // says that the CPU is slow
  return text + fmt::format("Without --policy.device: {}\n",
                            resolve_device(std::nullopt, false, report.available, warnings).str());
}

std::string report() {
  return to_text(inspect());
}

}  // namespace lerobot::device
