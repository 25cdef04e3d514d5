#include "value_text.hpp"

#include "lerobot/core/error.hpp"
#include "yaml_1_1.hpp"

namespace lerobot::config {
namespace {

bool is_enclosed_in(std::string_view text, char quote) {
  return text.size() >= 2 && text.front() == quote && text.back() == quote;
}

Json parse_json_or_text(const std::string& text) {
  try {
    return parse_json(text, "");
  } catch (const UsageError&) {
    return text;
  }
}

}  // namespace

Json parse_value(const std::string& text, Dialect dialect, std::string_view source) {
  if (dialect == Dialect::kJson) return parse_json_or_text(text);
  if (text.empty()) return text;  // "" and not YAML's null
  return parse_yaml(text, source);
}

Json parse_text_value(const std::string& text, Dialect dialect) {
  if (dialect == Dialect::kJson) {
    if (text == "null") return nullptr;
    return is_enclosed_in(text, '"') ? parse_json_or_text(text) : Json(text);
  }
  if (text == "null" || text == "Null" || text == "NULL" || text == "~") return nullptr;
  if (!is_enclosed_in(text, '"') && !is_enclosed_in(text, '\'')) return text;
  try {
    const Json value = parse_yaml(text, "");
    return value.is_string() ? value : Json(text);
  } catch (const UsageError&) {
    return text;  // quotes inside quotes: not one quoted text after all
  }
}

}  // namespace lerobot::config
