#include "lerobot/precision/tf32.hpp"

#include <ATen/Context.h>

namespace lerobot::precision {

void set_tf32(std::optional<bool> enabled) {
  if (!enabled) return;
  at::globalContext().setAllowTF32CuBLAS(*enabled);
  at::globalContext().setAllowTF32CuDNN(*enabled);
}

}  // namespace lerobot::precision
