// What an environment tells: arrays by name, pictures, and the loose facts beside them. Plain values in main memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lerobot::env {

enum class ElementType { kUint8, kInt64, kFloat32, kFloat64 };

size_t element_size(ElementType type);                 // bytes
std::string_view element_type_name(ElementType type);  // numpy's: "uint8", "int64", "float32", "float64"

// An array in C order (the last dimension varies fastest), in the machine's byte order.
struct Array {
  ElementType type = ElementType::kUint8;
  std::vector<int64_t> shape;    // {}: one value
  std::vector<std::byte> bytes;  // as many as type and shape ask for

  static Array of(std::span<const double> values);                               // float64 [values.size()]
  static Array of(std::span<const uint8_t> values, std::vector<int64_t> shape);  // uint8

  // The values. Throws std::logic_error when the array holds another type.
  std::span<const double> float64() const;
  std::span<const uint8_t> uint8() const;

  bool operator==(const Array&) const = default;
};

// A gymnasium observation. Nested Dict spaces are flattened into paths with '/' ("agent_pos", "pixels", "pixels/top");
// an environment whose observation is one bare array has it at kRootPath.
using Observation = std::map<std::string, Array, std::less<>>;
inline constexpr std::string_view kRootPath = "";

// One Observation for B environments: every array [B, ...]. Throws RunError naming the path when the environments do
// not all have the same paths, shapes and types.
Observation stack(std::span<const Observation> observations);

// A picture: RGB, 8 bits, [height, width, 3] in C order.
struct Image {
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> rgb;
};

using InfoValue = std::variant<bool, int64_t, double, std::string, std::vector<double>>;

// gymnasium's info: scalars and small arrays.
struct Info {
  std::optional<bool> is_success;  // absent: the environment does not say
  std::map<std::string, InfoValue, std::less<>> values;
};

}  // namespace lerobot::env
