#include <fmt/format.h>

#include "lerobot/eval/eval_result.hpp"

namespace lerobot::eval {
namespace {

// Text in the quotes that need no escape where one kind does.
std::string text_repr(const std::string& text) {
  const bool has_single = text.find('\'') != std::string::npos;
  const char quote = has_single && text.find('"') == std::string::npos ? '"' : '\'';
  std::string result(1, quote);
  for (const char c : text) {
    switch (c) {
      case '\\':
        result += "\\\\";
        break;
      case '\n':
        result += "\\n";
        break;
      case '\r':
        result += "\\r";
        break;
      case '\t':
        result += "\\t";
        break;
      default:
        if (c == quote) {
          result += '\\';
          result += c;
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
          result += c;
        }
    }
  }
  return result + quote;
}

}  // namespace

std::string python_repr(const Json& value) {
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_number_float()) return python_float_repr(value.get<double>());
  if (value.is_string()) return text_repr(value.get<std::string>());
  if (!value.is_structured()) return value.dump();  // integers

  std::string items;
  for (const auto& [key, item] : value.items()) {
    if (!items.empty()) items += ", ";
    if (value.is_object()) items += text_repr(key) + ": ";
    items += python_repr(item);
  }
  return value.is_object() ? "{" + items + "}" : "[" + items + "]";
}

}  // namespace lerobot::eval
