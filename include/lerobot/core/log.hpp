// The log on stderr, in LeRobot's line format:
//   INFO 2026-11-29 20:43:54   train/loop.cpp:61 Start offline training
// level, local time, the last 15 characters of file:line right-aligned, message. Thread-safe.
#pragma once

#include <ctime>
#include <functional>
#include <source_location>
#include <string>
#include <string_view>

namespace lerobot::log {

void info(std::string_view message, std::source_location where = std::source_location::current());
void warning(std::string_view message, std::source_location where = std::source_location::current());
void error(std::string_view message, std::source_location where = std::source_location::current());

// Replaces what writes a finished line (newline included) to stderr, so that a progress bar can step aside for it.
// Called under the log's lock; an empty writer restores plain writing.
using LineWriter = std::function<void(std::string_view line)>;
void set_line_writer(LineWriter writer);

// The text of one line.
std::string format_line(std::string_view level, std::time_t time, std::string_view location, std::string_view message);

}  // namespace lerobot::log
