#include "lerobot/core/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "lerobot/core/json.hpp"

namespace lerobot {
namespace {

// Edits (insert, delete, replace, swap of two neighbours) that turn `a` into `b`: the optimal string alignment
// distance.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_previous(b.size() + 1);
  std::vector<size_t> previous(b.size() + 1);
  std::vector<size_t> current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) current[j] = std::min(current[j], before_previous[j - 2] + 1);
    }
    before_previous.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

}  // namespace

std::string join(std::span<const std::string> parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string closest_match(std::string_view word, std::span<const std::string> candidates) {
  std::string_view best;
  size_t best_distance = word.size() / 3 + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return std::string(best);
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::string match = closest_match(word, candidates);
  return match.empty() ? "" : fmt::format(" Did you mean `{}`?", match);
}

std::string format_big_number(double value) {
  for (const char* suffix : {"", "K", "M", "B", "T", "Q"}) {
    if (std::abs(value) < 1000.0) return fmt::format("{:.0f}{}", value, suffix);
    value /= 1000.0;
  }
  return python_float_repr(value);
}

bool is_valid_utf8(std::string_view text) {
  // Well-formed sequences: RFC 3629, section 4 (no overlong forms, no surrogates, nothing above U+10FFFF).
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  const auto within = [](unsigned char c, unsigned char low, unsigned char high) { return low <= c && c <= high; };
  for (size_t i = 0; i < text.size();) {
    const unsigned char lead = byte(i);
    const size_t length = lead < 0x80                ? 1
                          : within(lead, 0xC2, 0xDF) ? 2
                          : within(lead, 0xE0, 0xEF) ? 3
                          : within(lead, 0xF0, 0xF4) ? 4
                                                     : 0;
    if (length == 0) return false;
    if (length > 1) {
      const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
      const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
      if (!within(byte(i + 1), low, high)) return false;
    }
    for (size_t k = 2; k < length; ++k) {
      if (!within(byte(i + k), 0x80, 0xBF)) return false;
    }
    i += length;
  }
  return true;
}

}  // namespace lerobot
