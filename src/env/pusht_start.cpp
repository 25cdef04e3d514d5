#include "pusht_start.hpp"

#include <numbers>

namespace lerobot::env {

std::array<double, 5> random_pusht_start(NumpyGenerator& random) {
  std::array<double, 5> start;
  for (const int i : {0, 1}) start[i] = static_cast<double>(random.integers(50, 450));
  for (const int i : {2, 3}) start[i] = static_cast<double>(random.integers(100, 400));
  start[4] = random.uniform(-std::numbers::pi, std::numbers::pi);
  return start;
}

}  // namespace lerobot::env
