#include "lerobot/device/backends.hpp"

#include <ATen/Context.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <system_error>

#include "lerobot/core/error.hpp"

namespace lerobot::device {
namespace {

namespace fs = std::filesystem;

constexpr std::array kBackendNames = {"cuda", "hip", "xpu"};
constexpr std::array kLibrarySuffixes = {".so", ".dylib"};

std::string loader_error() {
  const char* text = dlerror();
  return text != nullptr ? text : "the loader gave no reason";
}

fs::path find_library(const fs::path& directory, std::string_view name) {
  for (const char* suffix : kLibrarySuffixes) {
    fs::path path = directory / fmt::format("libtorch_{}{}", name, suffix);
    if (std::error_code ignored; fs::exists(path, ignored)) return path;
  }
  return {};
}

bool exists(const char* path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

std::string missing_driver(std::string_view name) {
  if (name == "cuda") {
    // libtorch_cuda opens the same library, so keeping it open costs nothing.
    if (dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) == nullptr) return "no NVIDIA driver: " + loader_error();
  } else if (name == "hip") {
    if (!exists("/dev/kfd") && !exists("/dev/dxg")) return "no AMD GPU driver: /dev/kfd does not exist";
  } else if (name == "xpu") {
    if (!exists("/dev/dri") && !exists("/dev/dxg")) return "no Intel GPU driver: /dev/dri does not exist";
  }
  return "";
}

std::vector<Backend> load_backends_from(const fs::path& library_directory, const DriverProbe& probe) {
  std::vector<Backend> backends;
  for (const char* name : kBackendNames) {
    Backend backend;
    backend.name = name;
    const fs::path library = find_library(library_directory, name);
    backend.present = !library.empty();
    if (!backend.present) {
      backend.reason = fmt::format("this LibTorch has no libtorch_{} ({})", name, library_directory.string());
    } else if (backend.reason = probe(name); backend.reason.empty()) {
      // Global: other parts of LibTorch look its symbols up by name. Never closed: its registrations live as long as
      // the process.
      backend.loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr;
      if (!backend.loaded) backend.reason = loader_error();
    }
    backends.push_back(std::move(backend));
  }
  return backends;
}

const std::vector<Backend>& load_backends() {
  static const std::vector<Backend> backends = load_backends_from(libtorch_directory());
  return backends;
}

fs::path libtorch_directory() {
  // The address of one of libtorch_cpu's functions; taking it runs nothing of ATen.
  Dl_info info{};
  at::Context& (*const function)() = &at::globalContext;
  if (dladdr(reinterpret_cast<const void*>(function), &info) == 0 || info.dli_fname == nullptr)
    throw RunError("cannot tell where libtorch_cpu was loaded from");
  return fs::canonical(info.dli_fname).parent_path();
}

}  // namespace lerobot::device
