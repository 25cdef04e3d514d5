// How Parquet's flat streams stand for rows of numbers.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace lerobot::dataset {

// A stored number as `Out`: float, double, int64_t or bool. Floats may lose precision; nullopt: the value has no
// counterpart (a fraction as an integer, anything but 0 and 1 as bool, more than int64 holds).
template <class Out, class In>
std::optional<Out> convert(In value) {
  if constexpr (std::is_same_v<Out, bool>) {
    if (value != In(0) && value != In(1)) return std::nullopt;
    return value != In(0);
  } else if constexpr (std::is_floating_point_v<Out>) {
    return static_cast<Out>(value);
  } else if constexpr (std::is_floating_point_v<In>) {
    if (!(std::abs(value) < In(9.2e18)) || value != std::trunc(value)) return std::nullopt;
    return static_cast<Out>(value);
  } else {
    if constexpr (std::is_same_v<In, uint64_t>)
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    return static_cast<Out>(value);
  }
}

// Repetition levels of one row of `shape`: 0 for its first value, then 1 + the innermost list that goes on.
// Source: Dremel encoding, as in the Parquet format's "Nested Encoding".
inline std::vector<int16_t> row_levels(std::span<const int64_t> shape, int16_t depth) {
  const int64_t values = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  std::vector<int16_t> levels(values);
  for (int64_t i = 1; i < values; ++i) {
    int64_t stride = values;
    for (int16_t level = 1; level <= depth; ++level) {
      stride /= shape[level - 1];
      if (i % stride == 0) {
        levels[i] = level;
        break;
      }
    }
  }
  return levels;
}

}  // namespace lerobot::dataset
