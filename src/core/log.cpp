#include "lerobot/core/log.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <mutex>
#include <string>
#include <utility>

namespace lerobot::log {
namespace {

constexpr size_t kLocationWidth = 15;

// Who writes finished lines, and the lock that keeps lines of several threads apart.
struct Output {
  std::mutex mutex;
  LineWriter writer;
};

Output& output() {
  static Output instance;
  return instance;
}

std::string location_text(const std::source_location& where) {
  std::string text = fmt::format("{}:{}", where.file_name(), where.line());
  if (text.size() > kLocationWidth) text = text.substr(text.size() - kLocationWidth);
  return text;
}

void write(std::string_view level, std::string_view message, const std::source_location& where) {
  const std::string line = format_line(level, std::time(nullptr), location_text(where), message);
  const std::lock_guard lock(output().mutex);
  if (output().writer) {
    output().writer(line);
  } else {
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
}

}  // namespace

std::string format_line(std::string_view level, std::time_t time, std::string_view location, std::string_view message) {
  std::tm local{};
  localtime_r(&time, &local);
  char clock[sizeof "2026-11-29 20:43:54"];
  std::strftime(clock, sizeof clock, "%Y-%m-%d %H:%M:%S", &local);
  return fmt::format("{} {} {:>{}} {}\n", level, clock, location, kLocationWidth, message);
}

void info(std::string_view message, std::source_location where) {
  write("INFO", message, where);
}
void warning(std::string_view message, std::source_location where) {
  write("WARNING", message, where);
}
void error(std::string_view message, std::source_location where) {
  write("ERROR", message, where);
}

void set_line_writer(LineWriter writer) {
  const std::lock_guard lock(output().mutex);
  output().writer = std::move(writer);
}

}  // namespace lerobot::log
