// Opens LibTorch's accelerator libraries at run time, so that one build runs on whichever LibTorch is installed.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lerobot::device {

// One accelerator library that may stand beside libtorch_cpu. MPS has none: it is part of libtorch_cpu.
struct Backend {
  std::string name;      // "cuda" (libtorch_cuda), "hip" (libtorch_hip), "xpu" (libtorch_xpu)
  bool present = false;  // the file is there
  bool loaded = false;
  std::string reason;  // why it is not loaded, in the loader's words ("libcudnn.so.9: cannot open shared object file")
};

// Says why no device can exist for the backend of this name, or "" when one may.
using DriverProbe = std::function<std::string(std::string_view name)>;

// Opens the accelerator libraries found beside libtorch_cpu. Must be the first ATen-touching call of every main: a
// seed, a convolution, a backward or a device query before it leaves CUDA dead for the whole process. Idempotent;
// returns the same report every time.
const std::vector<Backend>& load_backends();

// What this machine lacks to run the backend at all. Opening libtorch_cuda takes 0.3 s and half a gigabyte of address
// space, so a machine without a driver does not open it. A hint in one direction only: "" promises nothing.
//   cuda: the driver's library libcuda.so.1 must load (true of plain Linux, of WSL and of Jetson alike)
//   hip:  /dev/kfd, the ROCm compute node, or /dev/dxg under WSL
//   xpu:  /dev/dri, the graphics nodes, or /dev/dxg under WSL
std::string missing_driver(std::string_view name);

// The same for a given folder, without the memory: what the tests drive with fake libraries.
std::vector<Backend> load_backends_from(const std::filesystem::path& library_directory,
                                        const DriverProbe& probe = missing_driver);

// The folder that the running libtorch_cpu was loaded from.
std::filesystem::path libtorch_directory();

}  // namespace lerobot::device
