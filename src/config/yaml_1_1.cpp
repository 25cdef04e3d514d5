#include "yaml_1_1.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <limits>
#include <optional>
#include <regex>
#include <string>

#include "lerobot/core/error.hpp"
#include "python_number.hpp"

namespace lerobot::config {
namespace {

// The patterns of YAML 1.1 in PyYAML's resolver (https://yaml.org/type/, yaml/resolver.py).
bool is_null(const std::string& text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

std::optional<bool> as_bool(const std::string& text) {
  static const std::regex kTrue("yes|Yes|YES|true|True|TRUE|on|On|ON");
  static const std::regex kFalse("no|No|NO|false|False|FALSE|off|Off|OFF");
  if (std::regex_match(text, kTrue)) return true;
  if (std::regex_match(text, kFalse)) return false;
  return std::nullopt;
}

bool looks_like_int(const std::string& text) {
  static const std::regex kInt(
      "[-+]?0b[01_]+|[-+]?0[0-7_]+|[-+]?(0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+");
  return std::regex_match(text, kInt);
}

bool looks_like_float(const std::string& text) {
  static const std::regex kFloat(
      "[-+]?[0-9][0-9_]*\\.[0-9_]*([eE][-+][0-9]+)?|\\.[0-9][0-9_]*([eE][-+][0-9]+)?|"
      "[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\\.[0-9_]*|[-+]?\\.(inf|Inf|INF)|\\.(nan|NaN|NAN)");
  return std::regex_match(text, kFloat);
}

std::string without_underscores(std::string text) {
  std::erase(text, '_');
  return text;
}

// Takes a sign off the front; true for '-'.
bool take_sign(std::string& text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.erase(0, 1);
  return is_negative;
}

// "1:30" -> 90 in base 60; `parse` reads the last part, which may have a fraction.
template <class Number>
std::optional<Number> sexagesimal(const std::string& text, std::optional<Number> (*parse)(std::string_view)) {
  Number value = 0;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(':', begin), text.size());
    const auto part = parse(std::string_view(text).substr(begin, end - begin));
    if (!part || value > std::numeric_limits<int64_t>::max() / 64) return std::nullopt;
    value = value * 60 + *part;
    begin = end + 1;
  }
  return value;
}

std::optional<int64_t> in_base(std::string_view digits, int base) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  return error == std::errc{} && end == digits.data() + digits.size() ? std::optional(value) : std::nullopt;
}

Json int_value(const std::string& original, std::string_view source) {
  std::string text = without_underscores(original);
  const bool is_negative = take_sign(text);
  std::optional<int64_t> value;
  if (text.find(':') != std::string::npos) {
    value = sexagesimal<int64_t>(text, &parse_python_int);
  } else if (text.starts_with("0b")) {
    value = in_base(std::string_view(text).substr(2), 2);
  } else if (text.starts_with("0x")) {
    value = in_base(std::string_view(text).substr(2), 16);
  } else if (text.starts_with("0") && text.size() > 1) {
    value = in_base(std::string_view(text).substr(1), 8);
  } else {
    value = in_base(text, 10);
  }
  if (!value) throw UsageError(fmt::format("{}: {} is not an integer of 64 bits", source, original));
  return is_negative ? -*value : *value;
}

Json float_value(const std::string& original) {
  std::string text = without_underscores(original);
  const bool is_negative = take_sign(text);
  std::optional<double> value;
  if (text.find(':') != std::string::npos) {
    value = sexagesimal<double>(text, &parse_python_float);
  } else if (text.size() > 1 && text[0] == '.' && std::isalpha(static_cast<unsigned char>(text[1]))) {
    value = parse_python_float(std::string_view(text).substr(1));  // .inf, .nan
  } else {
    value = parse_python_float(text);
  }
  if (!value) return original;
  return is_negative ? -*value : *value;
}

Json plain_value(const std::string& text, std::string_view source) {
  if (is_null(text)) return nullptr;
  if (const auto value = as_bool(text)) return *value;
  if (looks_like_int(text)) return int_value(text, source);
  if (looks_like_float(text)) return float_value(text);
  return text;
}

Json scalar_value(const YAML::Node& node, std::string_view source) {
  constexpr std::string_view kStandardTags = "tag:yaml.org,2002:";
  const std::string& tag = node.Tag();
  if (tag == "!" || tag == std::string(kStandardTags) + "str") return node.Scalar();  // quoted, or said to be text
  if (tag == "?" || tag.empty() || tag.starts_with(kStandardTags)) return plain_value(node.Scalar(), source);
  throw UsageError(fmt::format("{}: the YAML tag {} is not known", source, tag));
}

Json to_json(const YAML::Node& node, std::string_view source);

// "<<: *base" puts the keys of another dict (or of several) below those written here.
void merge_into(const YAML::Node& node, std::string_view source, Json& json) {
  if (node.IsSequence()) {
    for (size_t i = node.size(); i-- > 0;) merge_into(node[i], source, json);  // the first one counts most
    return;
  }
  if (!node.IsMap()) throw UsageError(fmt::format("{}: YAML's << needs a dict or a list of dicts", source));
  const Json other = to_json(node, source);
  for (const auto& [key, value] : other.items()) json[key] = value;
}

Json map_value(const YAML::Node& node, std::string_view source) {
  Json json = Json::object();
  for (const auto& entry : node)
    if (entry.first.IsScalar() && entry.first.Scalar() == "<<") merge_into(entry.second, source, json);
  for (const auto& entry : node) {
    if (entry.first.IsNull()) {
      json["null"] = to_json(entry.second, source);
    } else if (!entry.first.IsScalar()) {
      throw UsageError(fmt::format("{}: a key in YAML must be text", source));
    } else if (entry.first.Scalar() != "<<") {
      json[entry.first.Scalar()] = to_json(entry.second, source);
    }
  }
  return json;
}

Json to_json(const YAML::Node& node, std::string_view source) {
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return scalar_value(node, source);
    case YAML::NodeType::Sequence: {
      Json json = Json::array();
      for (const auto& item : node) json.push_back(to_json(item, source));
      return json;
    }
    case YAML::NodeType::Map:
      return map_value(node, source);
    default:
      return nullptr;
  }
}

}  // namespace

Json parse_yaml(std::string_view text, std::string_view source) {
  std::vector<YAML::Node> documents;
  try {
    documents = YAML::LoadAll(std::string(text));
  } catch (const YAML::Exception& error) {
    const std::string where =
        error.mark.is_null() ? "" : fmt::format(" (line {}, column {})", error.mark.line + 1, error.mark.column + 1);
    throw UsageError(fmt::format("{}: not valid YAML: {}{}", source, error.msg, where));
  }
  if (documents.size() > 1) {
    throw UsageError(fmt::format("{}: one YAML document expected, got {}", source, documents.size()));
  }
  return documents.empty() ? Json(nullptr) : to_json(documents[0], source);
}

}  // namespace lerobot::config
