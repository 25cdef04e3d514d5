#include "eval_progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "lerobot/core/log.hpp"
#include "lerobot/metrics/progress_bar.hpp"

namespace lerobot::eval {
namespace {

constexpr auto kRedrawInterval = std::chrono::milliseconds(100);
constexpr std::string_view kClearLine = "\r\x1b[K";
constexpr std::string_view kLineUp = "\x1b[1A";

std::string percent_text(double rate) {
  return fmt::format("running_success_rate={:.1f}%", rate * 100);
}

size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

void write_stderr(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

std::string first_columns(const std::string& text, size_t columns) {
  size_t seen = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool continues_a_character = (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
    if (continues_a_character) continue;
    if (seen++ == columns) return text.substr(0, i);
  }
  return text;
}

std::string EvalProgress::Bar::text() const {
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return metrics::ProgressBar::render(description, done, total, seconds, "it", postfix);
}

EvalProgress::EvalProgress(bool is_wanted)
    : is_enabled_(is_wanted && isatty(STDERR_FILENO) == 1 && std::getenv("SLURM_JOB_ID") == nullptr),
      last_draw_(Clock::now() - kRedrawInterval) {
  if (!is_enabled_) return;
  log::set_line_writer([this](std::string_view line) {
    const std::lock_guard lock(mutex_);
    clear();
    write_stderr(std::string(line));
    draw();
  });
}

EvalProgress::~EvalProgress() {
  if (!is_enabled_) return;
  log::set_line_writer({});
  leave();
}

void EvalProgress::begin(int64_t batches) {
  if (!is_enabled_) return;
  const std::lock_guard lock(mutex_);
  leave();
  batches_ = {.description = "Stepping through eval batches", .total = batches, .start = Clock::now()};
  draw();
}

void EvalProgress::step(const RolloutStep& step) {
  if (!is_enabled_) return;
  const std::lock_guard lock(mutex_);
  if (steps_.total == 0) {
    steps_ = {.description = fmt::format("Running rollout with at most {} steps", step.max_steps),
              .total = step.max_steps,
              .start = Clock::now()};
  }
  steps_.done = step.index + 1;
  steps_.postfix = percent_text(step.running_success_rate);
  if (Clock::now() - last_draw_ >= kRedrawInterval) draw();
}

void EvalProgress::end_batch(double success_rate) {
  if (!is_enabled_) return;
  const std::lock_guard lock(mutex_);
  clear();
  steps_ = {};
  ++batches_.done;
  batches_.postfix = percent_text(success_rate);
  draw();
}

// Leaves the cursor at the beginning of the upper line.
void EvalProgress::draw() {
  if (batches_.total == 0) return;
  last_draw_ = Clock::now();
  const size_t columns = std::max<size_t>(2, terminal_columns()) - 1;  // a full line might wrap
  std::string text = std::string(kClearLine) + first_columns(batches_.text(), columns);
  if (steps_.total > 0) {
    text += '\n' + std::string(kClearLine) + first_columns(steps_.text(), columns) + std::string(kLineUp);
  }
  write_stderr(text + '\r');
}

void EvalProgress::clear() {
  if (batches_.total == 0) return;
  std::string text(kClearLine);
  if (steps_.total > 0) text += '\n' + std::string(kClearLine) + std::string(kLineUp);
  write_stderr(text + '\r');
}

void EvalProgress::leave() {
  if (batches_.total == 0) return;
  clear();
  steps_ = {};
  draw();
  write_stderr("\n");
  batches_ = {};
}

}  // namespace lerobot::eval
