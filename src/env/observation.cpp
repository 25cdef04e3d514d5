#include "lerobot/env/observation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <stdexcept>

#include "lerobot/core/error.hpp"

namespace lerobot::env {
namespace {

template <typename Element>
Array array_of(ElementType type, std::span<const Element> values, std::vector<int64_t> shape) {
  const auto bytes = std::as_bytes(values);
  return {type, std::move(shape), {bytes.begin(), bytes.end()}};
}

// The allocator of std::vector<std::byte> aligns for every element type.
template <typename Element>
std::span<const Element> elements(const Array& array, ElementType type) {
  if (array.type != type) {
    throw std::logic_error(
        fmt::format("array of {} read as {}", element_type_name(array.type), element_type_name(type)));
  }
  return {reinterpret_cast<const Element*>(array.bytes.data()), array.bytes.size() / sizeof(Element)};
}

std::string describe(const Array& array) {
  return fmt::format("{} [{}]", element_type_name(array.type), fmt::join(array.shape, ", "));
}

// The array that `observation` has under `path`, with the shape and type of `like`.
const Array& matching_array(const Observation& observation, size_t index, const std::string& path, const Array& like) {
  const auto found = observation.find(path);
  if (found == observation.end()) {
    throw RunError(fmt::format("environment {} has no observation '{}', environment 0 has", index, path));
  }
  if (found->second.type != like.type || found->second.shape != like.shape) {
    throw RunError(fmt::format("observation '{}' is {} in environment {} and {} in environment 0", path,
                               describe(found->second), index, describe(like)));
  }
  return found->second;
}

}  // namespace

size_t element_size(ElementType type) {
  switch (type) {
    case ElementType::kUint8:
      return 1;
    case ElementType::kFloat32:
      return 4;
    case ElementType::kInt64:
    case ElementType::kFloat64:
      return 8;
  }
  throw std::logic_error("not an ElementType");
}

std::string_view element_type_name(ElementType type) {
  switch (type) {
    case ElementType::kUint8:
      return "uint8";
    case ElementType::kInt64:
      return "int64";
    case ElementType::kFloat32:
      return "float32";
    case ElementType::kFloat64:
      return "float64";
  }
  throw std::logic_error("not an ElementType");
}

Array Array::of(std::span<const double> values) {
  return array_of(ElementType::kFloat64, values, {static_cast<int64_t>(values.size())});
}

Array Array::of(std::span<const uint8_t> values, std::vector<int64_t> shape) {
  return array_of(ElementType::kUint8, values, std::move(shape));
}

std::span<const double> Array::float64() const {
  return elements<double>(*this, ElementType::kFloat64);
}

std::span<const uint8_t> Array::uint8() const {
  return elements<uint8_t>(*this, ElementType::kUint8);
}

Observation stack(std::span<const Observation> observations) {
  Observation stacked;
  if (observations.empty()) return stacked;
  const Observation& first = observations.front();
  for (size_t i = 1; i < observations.size(); ++i) {
    for (const auto& [path, array] : observations[i]) {
      if (!first.contains(path)) {
        throw RunError(fmt::format("environment 0 has no observation '{}', environment {} has", path, i));
      }
    }
  }
  for (const auto& [path, like] : first) {
    Array& all = stacked[path];
    all.type = like.type;
    all.shape = like.shape;
    all.shape.insert(all.shape.begin(), static_cast<int64_t>(observations.size()));
    all.bytes.reserve(observations.size() * like.bytes.size());
    for (size_t i = 0; i < observations.size(); ++i) {
      const Array& one = matching_array(observations[i], i, path, like);
      all.bytes.insert(all.bytes.end(), one.bytes.begin(), one.bytes.end());
    }
  }
  return stacked;
}

}  // namespace lerobot::env
