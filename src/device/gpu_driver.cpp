#include "lerobot/device/gpu_driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

namespace lerobot::device {
namespace {

// Both APIs return an enum whose 0 is success and number devices with an int.
using Init = int(unsigned);
using GetNumber = int(int*);
using GetDevice = int(int* device, int ordinal);
using GetName = int(char* name, int length, int device);
using GetMemory = int(size_t* bytes, int device);
using GetAttribute = int(int* value, int attribute, int device);

// CUdevice_attribute, cuda.h
constexpr int kComputeCapabilityMajor = 75;
constexpr int kComputeCapabilityMinor = 76;

// The same functions under two vendors' names.
struct FunctionNames {
  const char* init;
  const char* count;
  const char* device;
  const char* name;
  const char* memory;
  const char* version;
  const char* attribute;  // nullptr: there is no compute capability to ask for
};
constexpr FunctionNames kCuda = {"cuInit",
                                 "cuDeviceGetCount",
                                 "cuDeviceGet",
                                 "cuDeviceGetName",
                                 "cuDeviceTotalMem_v2",
                                 "cuDriverGetVersion",
                                 "cuDeviceGetAttribute"};
constexpr FunctionNames kHip = {"hipInit",           "hipGetDeviceCount",    "hipDeviceGet", "hipDeviceGetName",
                                "hipDeviceTotalMem", "hipRuntimeGetVersion", nullptr};

template <typename Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

std::string cuda_version(int version) {  // 13000 is 13.0
  return fmt::format("{}.{}", version / 1000, version / 10 % 100);
}
std::string hip_version(int version) {  // 60443482 is 6.4.43482
  return fmt::format("{}.{}.{}", version / 10000000, version / 100000 % 100, version % 100000);
}

std::optional<ComputeCapability> compute_capability(GetAttribute* get_attribute, int device) {
  ComputeCapability found;
  if (get_attribute == nullptr || get_attribute(&found.major, kComputeCapabilityMajor, device) != 0 ||
      get_attribute(&found.minor, kComputeCapabilityMinor, device) != 0)
    return std::nullopt;
  return found;
}

DriverReport ask(void* library, const FunctionNames& names, std::string (*version_text)(int)) {
  DriverReport report;
  auto* const init = find<Init>(library, names.init);
  auto* const get_count = find<GetNumber>(library, names.count);
  auto* const get_device = find<GetDevice>(library, names.device);
  auto* const get_name = find<GetName>(library, names.name);
  auto* const get_memory = find<GetMemory>(library, names.memory);
  if (init == nullptr || get_count == nullptr || get_device == nullptr) {
    report.problem = fmt::format("the library lacks {}", init == nullptr ? names.init : names.count);
    return report;
  }
  int number = 0;
  if (auto* const get_version = find<GetNumber>(library, names.version);
      get_version != nullptr && get_version(&number) == 0)
    report.version = version_text(number);
  int count = 0;
  if (const int error = init(0); error != 0) {
    report.problem = fmt::format("{} failed with error {}", names.init, error);
  } else if (const int error = get_count(&count); error != 0) {
    report.problem = fmt::format("{} failed with error {}", names.count, error);
  } else if (count == 0) {
    report.problem = "the driver sees no device";
  }
  auto* const get_attribute = names.attribute != nullptr ? find<GetAttribute>(library, names.attribute) : nullptr;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    DriverDevice& found = report.devices.emplace_back();
    int device = 0;
    if (get_device(&device, ordinal) != 0) continue;
    std::array<char, 256> name{};
    if (get_name != nullptr && get_name(name.data(), name.size() - 1, device) == 0) found.name = name.data();
    size_t bytes = 0;
    if (get_memory != nullptr && get_memory(&bytes, device) == 0) found.total_bytes = bytes;
    found.compute_capability = compute_capability(get_attribute, device);
  }
  return report;
}

DriverReport cannot_open() {
  const char* reason = dlerror();
  return DriverReport{.problem = reason != nullptr ? reason : "the loader gave no reason"};
}

}  // namespace

DriverReport ask_cuda_driver(const char* library) {
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  return handle != nullptr ? ask(handle, kCuda, cuda_version) : cannot_open();
}

DriverReport ask_hip_runtime(const char* library) {
  // nullptr opens the program itself, whose search covers everything loaded globally: libtorch_hip and what it needs.
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  return handle != nullptr ? ask(handle, kHip, hip_version) : cannot_open();
}

}  // namespace lerobot::device
