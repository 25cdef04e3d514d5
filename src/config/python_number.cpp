#include "python_number.hpp"

#include <cctype>
#include <charconv>
#include <limits>
#include <string>

namespace lerobot::config {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view strip(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n\r\f\v";
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

// Python allows one underscore between two digits and nowhere else.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      result += text[i];
    } else if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1])) {
      return std::nullopt;
    }
  }
  return result;
}

template <class Number>
std::optional<Number> parse_all(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // Too large or too small for a double: Python gives inf or 0, and so does strtod.
    if constexpr (std::is_floating_point_v<Number>) return std::strtod(std::string(text).c_str(), nullptr);
    return std::nullopt;
  }
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<int64_t> parse_python_int(std::string_view text) {
  auto digits = without_underscores(strip(text));
  if (!digits) return std::nullopt;
  std::string_view rest = *digits;
  if (rest.starts_with('+')) rest.remove_prefix(1);
  if (rest.size() < digits->size() && rest.starts_with('-')) return std::nullopt;
  return parse_all<int64_t>(rest);
}

std::optional<double> parse_python_float(std::string_view text) {
  auto cleaned = without_underscores(strip(text));
  if (!cleaned || cleaned->empty()) return std::nullopt;
  std::string_view rest = *cleaned;
  const bool is_negative = rest.starts_with('-');
  if (is_negative || rest.starts_with('+')) rest.remove_prefix(1);
  const double sign = is_negative ? -1.0 : 1.0;
  std::string lower;
  for (char c : rest) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower == "inf" || lower == "infinity") return sign * std::numeric_limits<double>::infinity();
  if (lower == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (rest.empty() || !(is_digit(rest[0]) || rest[0] == '.')) return std::nullopt;
  const auto value = parse_all<double>(rest);
  return value ? std::optional(sign * *value) : std::nullopt;
}

}  // namespace lerobot::config
