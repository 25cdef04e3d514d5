#include "lerobot/config/codec.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "lerobot/core/text.hpp"
#include "python_number.hpp"

namespace lerobot::config {
namespace {

std::string shorten(std::string text) {
  constexpr size_t kLongest = 80;
  if (text.size() <= kLongest) return text;
  size_t end = kLongest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a UTF-8 character
  return text.substr(0, end) + "...";
}

// What kind of thing a JSON value is, in a user's words.
std::string describe(const Json& json) {
  if (json.is_null()) return "null";
  if (json.is_object()) return "the dict " + brief(json);
  if (json.is_array()) return "the list " + brief(json);
  return fmt::format("'{}'", brief(json));
}

void add_expected(std::string_view expected, const Json& json, Problems& problems) {
  problems.add("", fmt::format("expected {}, got {}", expected, describe(json)));
}

}  // namespace

std::string brief(const Json& json) {
  if (json.is_string()) return shorten(json.get<std::string>());
  return shorten(to_python_json(json, {.indent = -1, .ensure_ascii = false}));
}

void Codec<bool>::read(const Json& json, bool& value, Problems& problems) {
  if (json.is_boolean()) {
    value = json.get<bool>();
  } else if (json == "true" || json == "false") {
    value = json == "true";
  } else {
    add_expected("true or false", json, problems);
  }
}
Json Codec<bool>::write(const bool& value) {
  return value;
}
std::string Codec<bool>::type_name() {
  return "bool";
}

void Codec<int64_t>::read(const Json& json, int64_t& value, Problems& problems) {
  constexpr auto kLargest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (json.is_number_unsigned() && json.get<uint64_t>() > kLargest) {
    add_expected("an integer of 64 bits", json, problems);
  } else if (json.is_number_integer()) {
    value = json.get<int64_t>();
  } else if (json.is_boolean()) {
    value = json.get<bool>() ? 1 : 0;  // as Python's int(True)
  } else if (const auto number = json.is_string() ? parse_python_int(json.get<std::string>()) : std::nullopt) {
    value = *number;
  } else {
    add_expected("an integer", json, problems);
  }
}
Json Codec<int64_t>::write(const int64_t& value) {
  return value;
}
std::string Codec<int64_t>::type_name() {
  return "int";
}

void Codec<double>::read(const Json& json, double& value, Problems& problems) {
  if (json.is_number()) {
    value = json.get<double>();
  } else if (json.is_boolean()) {
    value = json.get<bool>() ? 1.0 : 0.0;  // as Python's float(True)
  } else if (const auto number = json.is_string() ? parse_python_float(json.get<std::string>()) : std::nullopt) {
    value = *number;
  } else {
    add_expected("a number", json, problems);
  }
}
Json Codec<double>::write(const double& value) {
  return value;
}
std::string Codec<double>::type_name() {
  return "float";
}

// Numbers and booleans become their Python text, as str() makes of them.
void Codec<std::string>::read(const Json& json, std::string& value, Problems& problems) {
  if (json.is_string()) {
    value = json.get<std::string>();
  } else if (json.is_boolean()) {
    value = json.get<bool>() ? "True" : "False";
  } else if (json.is_number()) {
    value = to_python_json(json);
  } else {
    add_expected("text", json, problems);
  }
}
Json Codec<std::string>::write(const std::string& value) {
  return value;
}
std::string Codec<std::string>::type_name() {
  return "str";
}

void Codec<std::filesystem::path>::read(const Json& json, std::filesystem::path& value, Problems& problems) {
  if (json.is_string()) {
    value = json.get<std::string>();
  } else {
    add_expected("a path", json, problems);
  }
}
Json Codec<std::filesystem::path>::write(const std::filesystem::path& value) {
  return value.string();
}
std::string Codec<std::filesystem::path>::type_name() {
  return "path";
}

void Codec<Json>::read(const Json& json, Json& value, Problems&) {
  value = json;
}
Json Codec<Json>::write(const Json& value) {
  return value;
}
std::string Codec<Json>::type_name() {
  return "any";
}

void Codec<FeatureType>::read(const Json& json, FeatureType& value, Problems& problems) {
  if (const auto type = json.is_string() ? parse_feature_type(json.get<std::string>()) : std::nullopt) {
    value = *type;
  } else {
    detail::add_unknown_choice(json, feature_type_names(), problems);
  }
}
Json Codec<FeatureType>::write(const FeatureType& value) {
  return std::string(to_string(value));
}
std::string Codec<FeatureType>::type_name() {
  return join(feature_type_names(), "|");
}

void Codec<NormalizationMode>::read(const Json& json, NormalizationMode& value, Problems& problems) {
  if (const auto mode = json.is_string() ? parse_normalization_mode(json.get<std::string>()) : std::nullopt) {
    value = *mode;
  } else {
    detail::add_unknown_choice(json, {"MIN_MAX", "MEAN_STD", "IDENTITY", "QUANTILES", "QUANTILE10"}, problems);
  }
}
Json Codec<NormalizationMode>::write(const NormalizationMode& value) {
  return std::string(to_string(value));
}
std::string Codec<NormalizationMode>::type_name() {
  return "MIN_MAX|MEAN_STD|IDENTITY|QUANTILES|QUANTILE10";
}

void Codec<PolicyFeature>::read(const Json& json, PolicyFeature& value, Problems& problems) {
  if (!detail::expect_object(json, type_name(), problems)) return;
  for (const auto& [key, _] : json.items()) {
    if (key != "type" && key != "shape") {
      problems.add("", fmt::format("`{}` is not a field of a feature; `type` and `shape` are", key));
    }
  }
  for (const char* key : {"type", "shape"})
    if (!json.contains(key)) problems.add("", fmt::format("`{}` is missing", key));
  if (json.contains("type")) {
    const auto scope = problems.enter_item("type");
    Codec<FeatureType>::read(json["type"], value.type, problems);
  }
  if (json.contains("shape")) {
    const auto scope = problems.enter_item("shape");
    Codec<std::vector<int64_t>>::read(json["shape"], value.shape, problems);
  }
}
Json Codec<PolicyFeature>::write(const PolicyFeature& value) {
  return {{"type", Codec<FeatureType>::write(value.type)}, {"shape", value.shape}};
}
std::string Codec<PolicyFeature>::type_name() {
  return "{type, shape}";
}

namespace detail {

std::string list_name(const std::vector<std::string>& item_names) {
  return fmt::format("[{}]", join(item_names, ", "));
}
std::string dict_name(const std::string& item_name) {
  return fmt::format("{{str: {}}}", item_name);
}
std::string choice_name(const std::vector<std::string>& alternatives) {
  return join(alternatives, "|");
}

bool expect_array(const Json& json, std::string_view type_name, Problems& problems) {
  if (json.is_array()) return true;
  add_expected(fmt::format("a list {}", type_name), json, problems);
  return false;
}

bool expect_object(const Json& json, std::string_view type_name, Problems& problems) {
  if (json.is_object()) return true;
  add_expected(fmt::format("a dict {}", type_name), json, problems);
  return false;
}

void add_wrong_length(size_t expected, size_t actual, Problems& problems) {
  problems.add("", fmt::format("expected {} items, got {}", expected, actual));
}

void add_unknown_choice(const Json& json, const std::vector<std::string>& accepted, Problems& problems) {
  const std::string hint = json.is_string() ? did_you_mean(json.get<std::string>(), accepted) : "";
  problems.add("", fmt::format("expected one of {}, got {}.{}", join(accepted, ", "), describe(json), hint));
}

}  // namespace detail
}  // namespace lerobot::config
