#include "strict_json.hpp"

#include <fmt/format.h>

#include "lerobot/core/error.hpp"

namespace lerobot::optim {
namespace {

std::string_view type_name(const Json& value) {
  if (value.is_number_float()) return "a number with a decimal point";
  if (value.is_number_integer()) return "an integer";
  if (value.is_boolean()) return "true or false";
  if (value.is_string()) return "a text";
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  return "null";
}

[[noreturn]] void refuse(std::string_view source, const std::string& place, const std::string& problem) {
  throw UsageError(fmt::format("{}: {}{}{}", source, place, place.empty() ? "" : ": ", problem));
}

}  // namespace

void require_same_shape(const Json& expected, const Json& actual, std::string_view source, const std::string& place) {
  if (type_name(expected) != type_name(actual))
    refuse(source, place, fmt::format("expected {}, got {}", type_name(expected), actual.dump()));
  if (expected.is_array()) {
    if (expected.size() != actual.size())
      refuse(source, place, fmt::format("expected a list of {}, got {}", expected.size(), actual.size()));
    for (size_t i = 0; i < expected.size(); ++i)
      require_same_shape(expected[i], actual[i], source, fmt::format("{}[{}]", place, i));
  } else if (expected.is_object()) {
    for (const auto& [key, value] : actual.items())
      if (!expected.contains(key)) refuse(source, place, fmt::format("unknown key `{}`", key));
    for (const auto& [key, value] : expected.items()) {
      if (!actual.contains(key)) refuse(source, place, fmt::format("key `{}` is missing", key));
      require_same_shape(value, actual[key], source, place.empty() ? key : place + "." + key);
    }
  }
}

}  // namespace lerobot::optim
