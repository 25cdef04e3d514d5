// YAML 1.1 as PyYAML reads it, which is what LeRobot's flags and YAML files are: yes and off are booleans, 010 is
// eight, 1_000 and 0x10 are integers, 12:30 is 750, while 1e-4 (no point) stays text until something asks for a number.
#pragma once

#include <string_view>

#include "lerobot/core/json.hpp"

namespace lerobot::config {

// Throws UsageError that names `source`, with the line and column where there is one.
Json parse_yaml(std::string_view text, std::string_view source);

}  // namespace lerobot::config
