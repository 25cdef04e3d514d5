// Resizing pictures.
#pragma once

#include <cstdint>

#include "lerobot/env/observation.hpp"

namespace lerobot::env {

// cv2.resize(image, (width, height)) with its default, bilinear interpolation, bit for bit: fixed point with 11 bits of
// weight, two taps an axis whatever the scale (so shrinking aliases), but the mean of 2 x 2 when both sides are halved.
// Source: OpenCV 4, modules/imgproc/src/resize.cpp.
Image resize_bilinear(const Image& image, int64_t width, int64_t height);

}  // namespace lerobot::env
