// Where an episode of PushT starts.
#pragma once

#include <array>

#include "numpy_generator.hpp"

namespace lerobot::env {

// Agent x, y, block x, y: whole pixels, block angle: in [-pi, pi); drawn in this order.
std::array<double, 5> random_pusht_start(NumpyGenerator& random);

}  // namespace lerobot::env
