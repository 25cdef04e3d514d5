// Small text helpers.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lerobot {

std::string join(std::span<const std::string> parts, std::string_view separator);

// The candidate nearest to `word` by edit distance, or "" when none is near enough to be a likely slip
// (more than a third of the word's length away).
std::string closest_match(std::string_view word, std::span<const std::string> candidates);

// " Did you mean `x`?" or "".
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

// LeRobot's big numbers: divided by 1000 while >= 1000, suffix K M B T Q, "%.0f" (1500 -> "2K", 36 -> "36").
std::string format_big_number(double value);

bool is_valid_utf8(std::string_view text);

}  // namespace lerobot
