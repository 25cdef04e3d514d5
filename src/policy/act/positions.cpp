#include "lerobot/policy/act/positions.hpp"

#include <torch/utils.h>

#include <cmath>
#include <numbers>

namespace lerobot::policy {
namespace {

// Positions of one axis, scaled: [n] -> [n, dimension].
torch::Tensor axis_positions(int64_t n, int64_t dimension, torch::Device device) {
  const auto options = torch::dtype(torch::kFloat32).device(device);
  const auto scaled = torch::arange(1, n + 1, options) / (static_cast<double>(n) + 1e-6) * (2 * std::numbers::pi);
  const auto pair = torch::arange(dimension / 2, options) * 2;  // 2*floor(j/2) of even and odd j
  const auto frequency = torch::pow(10000.0, pair / static_cast<double>(dimension));
  const auto angle = scaled.unsqueeze(-1) / frequency;
  return torch::stack({angle.sin(), angle.cos()}, -1).flatten(1);
}

}  // namespace

torch::Tensor sinusoidal_positions_1d(int64_t n, int64_t dimension) {
  auto table = torch::empty({n, dimension}, torch::kFloat64);
  auto values = table.accessor<double, 2>();
  for (int64_t p = 0; p < n; ++p) {
    for (int64_t j = 0; j < dimension; ++j) {
      const double exponent = static_cast<double>(2 * (j / 2)) / static_cast<double>(dimension);
      const double angle = static_cast<double>(p) / std::pow(10000.0, exponent);
      values[p][j] = j % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  }
  return table.to(torch::kFloat32);
}

torch::Tensor sinusoidal_positions_2d(int64_t height, int64_t width, int64_t dimension, torch::Device device) {
  TORCH_CHECK(dimension % 4 == 0, "dimension ", dimension, " is not a multiple of 4");
  const int64_t half = dimension / 2;
  const auto y = axis_positions(height, half, device).unsqueeze(1).expand({height, width, half});
  const auto x = axis_positions(width, half, device).unsqueeze(0).expand({height, width, half});
  return torch::cat({y, x}, -1).reshape({height * width, 1, dimension});
}

}  // namespace lerobot::policy
