#include "lerobot/core/signals.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace lerobot::signals {
namespace {

constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGHUP};

// The one thing a handler may touch.
std::atomic<int> stop_signal = 0;
std::atomic<bool> save_is_requested = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void on_stop(int signal) {
  int none = 0;
  if (!stop_signal.compare_exchange_strong(none, signal)) ::_exit(stop_exit_code(signal));
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
