// TensorFloat-32 on NVIDIA GPUs: float32 matrix products and convolutions with 10 bits of mantissa, several times
// faster. Only what stays in float32 is touched.
#pragma once

#include <optional>

namespace lerobot::precision {

// true, false: matrix products and cuDNN convolutions alike. nullopt: leaves LibTorch's defaults (products off,
// convolutions on). Harmless without a GPU. Uses LibTorch's older setters alone: they keep both of its records of the
// setting in step, while mixing in the newer ones makes later reads throw.
void set_tf32(std::optional<bool> enabled);

}  // namespace lerobot::precision
