// The strictness of LeRobot's state readers: a file is filled into a live object of the same shape.
#pragma once

#include <string>
#include <string_view>

#include "lerobot/core/json.hpp"

namespace lerobot::optim {

// Throws UsageError naming `source` and the place (`[0].betas[1]`) unless `actual` has the shape of `expected`: the
// same JSON type everywhere (integers and floats differ), the same keys in any order, the same list lengths.
void require_same_shape(const Json& expected, const Json& actual, std::string_view source,
                        const std::string& place = "");

}  // namespace lerobot::optim
