// Numbers in text as Python's int() and float() read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lerobot::config {

// " +1_000 " -> 1000; "010" -> 10. Nothing for "1.0", "0x10", "1__0", or what 64 bits cannot hold.
std::optional<int64_t> parse_python_int(std::string_view text);

// "1e-4", ".5", "1_0.5", "inf", "-Infinity", "nan".
std::optional<double> parse_python_float(std::string_view text);

}  // namespace lerobot::config
