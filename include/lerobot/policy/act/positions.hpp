// Fixed sinusoidal positions of ACT.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace lerobot::policy {

// [n, dimension] float32 on the CPU; angle(p, j) = p / 10000^(2*floor(j/2) / dimension), sine for even j, cosine for
// odd j, computed in double (Vaswani et al. 2017, section 3.5). The table of the VAE encoder.
torch::Tensor sinusoidal_positions_1d(int64_t n, int64_t dimension);

// [height*width, 1, dimension] float32 on `device`, pixels row-major; dimension must be a multiple of 4. The first half
// of the channels tells y, the second x. Rows and columns count from 1 and are scaled to (0, 2*pi]:
// y = row / (height + 1e-6) * 2*pi; channel j of an axis is sin(y / f_j) for even j, cos(y / f_j) for odd j,
// f_j = 10000^(2*floor(j/2) / (dimension/2)). As in DETR, with LeRobot's constants.
torch::Tensor sinusoidal_positions_2d(int64_t height, int64_t width, int64_t dimension, torch::Device device);

}  // namespace lerobot::policy
