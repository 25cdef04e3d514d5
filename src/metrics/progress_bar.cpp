#include "lerobot/metrics/progress_bar.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "lerobot/core/log.hpp"

namespace lerobot::metrics {
namespace {

constexpr int kBarWidth = 10;
constexpr auto kRedrawInterval = std::chrono::milliseconds(100);
constexpr std::string_view kClearLine = "\r\x1b[K";

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(seconds);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{:02}:{:02}", whole / 60, whole % 60);
}

// A second, or seconds for each where that is more than one.
std::string speed_text(double rate, std::string_view unit) {
  if (!(rate > 0)) return fmt::format("?{}/s", unit);
  return rate < 1 ? fmt::format("{:5.2f}s/{}", 1 / rate, unit) : fmt::format("{:5.2f}{}/s", rate, unit);
}

void write_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

ProgressBar::ProgressBar(std::string description, int64_t total)
    : description_(std::move(description)),
      total_(total),
      enabled_(isatty(STDERR_FILENO) == 1 && std::getenv("SLURM_JOB_ID") == nullptr),
      start_(Clock::now()),
      last_draw_(start_ - kRedrawInterval) {
  if (!enabled_) return;
  log::set_line_writer([this](std::string_view line) {
    const std::lock_guard lock(mutex_);
    write_stderr(kClearLine);
    write_stderr(line);
    draw();
  });
  const std::lock_guard lock(mutex_);
  draw();
}

ProgressBar::~ProgressBar() {
  if (!enabled_) return;
  log::set_line_writer({});
  draw();
  write_stderr("\n");
}

void ProgressBar::advance(int64_t count) {
  const std::lock_guard lock(mutex_);
  done_ += count;
  if (!enabled_) return;
  const auto now = Clock::now();
  if (now - last_draw_ < kRedrawInterval) return;
  last_draw_ = now;
  draw();
}

void ProgressBar::draw() {
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  write_stderr(std::string(kClearLine) + render(description_, done_, total_, seconds));
}

std::string ProgressBar::render(const std::string& description, int64_t done, int64_t total, double seconds,
                                std::string_view unit, std::string_view postfix) {
  const double fraction = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1.0;
  const int filled = static_cast<int>(fraction * kBarWidth);
  std::string bar;
  for (int i = 0; i < kBarWidth; ++i) bar += i < filled ? "█" : " ";
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0.0;
  const std::string left = rate > 0 ? clock_text(static_cast<double>(total - done) / rate) : "?";
  return fmt::format("{}: {:3.0f}%|{}| {}/{} [{}<{}, {}{}{}]", description, fraction * 100, bar, done, total,
                     clock_text(seconds), left, speed_text(rate, unit), postfix.empty() ? "" : ", ", postfix);
}

}  // namespace lerobot::metrics
