#include "lerobot/core/signals.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <ctime>

namespace lerobot::signals {
namespace {

constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGHUP};

// A closed terminal sends SIGHUP twice (the shell and the kernel), timeout(1) its signal to the program and to its
// group: within this time it is one request. SIGINT is exempt, a terminal sends it once for each Ctrl-C.
constexpr int64_t kOneRequestNanoseconds = 1'000'000'000;

// All that a handler may touch.
std::atomic<int> stop_signal = 0;
std::atomic<int64_t> stop_time = 0;
std::atomic<bool> save_is_requested = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free &&
              std::atomic<bool>::is_always_lock_free);

int64_t nanoseconds_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);  // one of the calls that a handler may make
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void on_stop(int signal) {
  const int64_t now = nanoseconds_now();
  if (stop_signal == 0) stop_time = now;
  int first = 0;
  if (stop_signal.compare_exchange_strong(first, signal)) return;
  const bool is_repeated = signal == first && signal != SIGINT && now - stop_time < kOneRequestNanoseconds;
  if (!is_repeated) ::_exit(stop_exit_code(signal));
}

void on_save(int) {
  save_is_requested = true;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction before {};
  ::sigaction(signal, nullptr, &before);
  if (before.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void install_handlers() {
  for (const int signal : kStopSignals) handle(signal, on_stop);
  handle(SIGUSR1, on_save);
  // Ctrl-C on `lerobot-train | tee` ends tee at once: what can no longer be written must not end this program.
  ::signal(SIGPIPE, SIG_IGN);
}

std::optional<int> stop_requested() {
  const int signal = stop_signal;
  return signal == 0 ? std::nullopt : std::optional(signal);
}

bool take_save_request() {
  return save_is_requested.exchange(false);
}

std::string name(int signal) {
  switch (signal) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    case SIGHUP:
      return "SIGHUP";
    default:
      return fmt::format("signal {}", signal);
  }
}

int stop_exit_code(int signal) {
  return 128 + signal;
}

void throw_if_stop_requested(const char* what_was_lost) {
  if (const auto signal = stop_requested()) {
    throw Stopped(*signal, fmt::format("stopped by {} {}", name(*signal), what_was_lost));
  }
}

BlockedInNewThreads::BlockedInNewThreads() {
  sigset_t ours;
  sigemptyset(&ours);
  for (const int signal : kStopSignals) sigaddset(&ours, signal);
  sigaddset(&ours, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &ours, &before_);
}

BlockedInNewThreads::~BlockedInNewThreads() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace lerobot::signals
