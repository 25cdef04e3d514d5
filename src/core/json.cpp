// Writing JSON as Python does.
#include "lerobot/core/json.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "lerobot/core/error.hpp"
#include "lerobot/core/text.hpp"
#include "utf8.hpp"

namespace lerobot {
namespace {

void append_utf16_escape(std::string& out, uint32_t code_point) {
  auto sink = std::back_inserter(out);
  if (code_point >= 0x10000) {
    const uint32_t offset = code_point - 0x10000;
    fmt::format_to(sink, "\\u{:04x}\\u{:04x}", 0xD800 | offset >> 10, 0xDC00 | (offset & 0x3FF));
  } else {
    fmt::format_to(sink, "\\u{:04x}", code_point);
  }
}

void append_string(std::string& out, const std::string& text, bool ensure_ascii) {
  if (!is_valid_utf8(text)) throw UsageError(fmt::format("cannot write text that is not UTF-8 as JSON: {}", text));
  out += '"';
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    const uint32_t code_point = next_code_point(text, i);
    switch (code_point) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        // With ensure_ascii Python escapes all but ' ' to '~' (so DEL too), without it only control characters.
        if (code_point < 0x20 || (ensure_ascii && code_point > 0x7E)) {
          append_utf16_escape(out, code_point);
        } else {
          out.append(text, begin, i - begin);
        }
    }
  }
  out += '"';
}

std::string json_float(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return python_float_repr(value);
}

class Writer {
 public:
  explicit Writer(JsonStyle style) : style_(style) {}

  std::string text(const Json& value) {
    write(value, 0);
    return std::move(out_);
  }

 private:
  void write(const Json& value, int depth) {
    switch (value.type()) {
      case Json::value_t::null:
        out_ += "null";
        break;
      case Json::value_t::boolean:
        out_ += value.get<bool>() ? "true" : "false";
        break;
      case Json::value_t::number_integer:
        out_ += std::to_string(value.get<int64_t>());
        break;
      case Json::value_t::number_unsigned:
        out_ += std::to_string(value.get<uint64_t>());
        break;
      case Json::value_t::number_float:
        out_ += json_float(value.get<double>());
        break;
      case Json::value_t::string:
        append_string(out_, value.get_ref<const std::string&>(), style_.ensure_ascii);
        break;
      case Json::value_t::array:
        write_array(value, depth);
        break;
      case Json::value_t::object:
        write_object(value, depth);
        break;
      default:
        throw RunError("cannot write a binary value as JSON");
    }
  }

  void write_array(const Json& value, int depth) {
    if (value.empty()) {
      out_ += "[]";
      return;
    }
    out_ += '[';
    bool first = true;
    for (const Json& element : value) {
      separate(first, depth + 1);
      write(element, depth + 1);
    }
    finish(']', depth);
  }

  void write_object(const Json& value, int depth) {
    if (value.empty()) {
      out_ += "{}";
      return;
    }
    out_ += '{';
    bool first = true;
    for (const auto& [key, element] : value.items()) {
      separate(first, depth + 1);
      append_string(out_, key, style_.ensure_ascii);
      out_ += ": ";
      write(element, depth + 1);
    }
    finish('}', depth);
  }

  void separate(bool& first, int depth) {
    if (!first) out_ += style_.indent < 0 ? ", " : ",";
    first = false;
    break_line(depth);
  }

  void finish(char bracket, int depth) {
    break_line(depth);
    out_ += bracket;
  }

  void break_line(int depth) {
    if (style_.indent < 0) return;
    out_ += '\n';
    out_.append(static_cast<size_t>(style_.indent) * depth, ' ');
  }

  JsonStyle style_;
  std::string out_;
};

}  // namespace

std::string to_python_json(const Json& value, JsonStyle style) {
  return Writer(style).text(value);
}

std::string python_float_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  const std::string_view scientific(buffer, end - buffer);  // d[.ddd]e±dd: the shortest digits that read back equal
  const size_t e = scientific.find('e');
  const int exponent = std::atoi(std::string(scientific.substr(e + 1)).c_str());
  if (exponent < -4 || exponent >= 16) return std::string(scientific);  // Python's border for repr
  std::string fixed(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed).ptr);
  if (fixed.find('.') == std::string::npos) fixed += ".0";
  return fixed;
}

}  // namespace lerobot
