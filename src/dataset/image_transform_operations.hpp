// The pixel arithmetic of the image transforms. Plain loops over one image that the compiler vectorises: they run in
// the loader's threads, where no parallel kernel may start.
#pragma once

#include <cstdint>
#include <span>

#include "lerobot/dataset/image_transforms.hpp"

// A function compiled for several x86-64 instruction sets, of which the machine's best one is chosen when the program
// loads. All give the same bits: what torch computes with fused multiply-adds is written as std::fma (a library call,
// slow, only where the processor has none), and nothing else is fused (-ffp-contract=off). Sanitizers do not go with
// it.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LEROBOT_FOR_EACH_X86 __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define LEROBOT_FOR_EACH_X86
#endif

namespace lerobot::dataset {

// One image, [C, H, W], changed in place. Pixel: uint8_t (0 to 255) or float (0 to 1).
template <typename Pixel>
struct ImageView {
  std::span<Pixel> pixels;
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;

  std::span<Pixel> channel(int64_t index) const { return pixels.subspan(index * height * width, height * width); }
};

// To 0 … most; a NaN becomes 0. For the loops: no branch.
inline float clamp_pixel(float value, float most) {
  const float at_least_0 = value > 0.0F ? value : 0.0F;
  return at_least_0 < most ? at_least_0 : most;
}

// Clamped and truncated.
inline uint8_t to_byte(float value) {
  return static_cast<uint8_t>(static_cast<int32_t>(clamp_pixel(value, 255.0F)));
}

// Color operations and Sharpness need 1 or 3 channels. Saturation and Hue leave an image of one channel alone.
template <typename Pixel>
void apply(const Brightness& brightness, const ImageView<Pixel>& image);
template <typename Pixel>
void apply(const Contrast& contrast, const ImageView<Pixel>& image);
template <typename Pixel>
void apply(const Saturation& saturation, const ImageView<Pixel>& image);
template <typename Pixel>
void apply(const Hue& hue, const ImageView<Pixel>& image);
template <typename Pixel>
void apply(const Sharpness& sharpness, const ImageView<Pixel>& image);
template <typename Pixel>
void apply(const Affine& affine, const ImageView<Pixel>& image);

}  // namespace lerobot::dataset
