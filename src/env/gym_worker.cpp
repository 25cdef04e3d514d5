#include "gym_worker.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "gym_python.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "lerobot/core/signals.hpp"

namespace lerobot::env {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr auto kLookAround = milliseconds(250);     // how often a wait looks whether the process lives
constexpr auto kTimeForAStack = milliseconds(500);  // for a process that hangs to write where
constexpr uint32_t kLongestAnswer = 64 << 20;

FileDescriptor connect_to(FileDescriptor& other_end) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw RunError(fmt::format("cannot make a socket: {}", std::strerror(errno)));
  }
  other_end = FileDescriptor(ends[1]);
  return FileDescriptor(ends[0]);
}

// Read by the process from its descriptor 5: the text on a command line would fill the system's list of processes.
FileDescriptor script_file() {
  FileDescriptor file = make_anonymous_file();
  const std::string_view script = gym_worker_script();
  if (::pwrite(file.get(), script.data(), script.size(), 0) != static_cast<ssize_t>(script.size())) {
    throw RunError(fmt::format("cannot write the environment worker's program: {}", std::strerror(errno)));
  }
  return file;
}

ProcessStart start_of(const GymOptions& options, const std::filesystem::path& python, const std::string& name,
                      bool is_quiet, std::vector<int> descriptors) {
  constexpr const char* kRunScript = "exec(compile(open(5, encoding='utf-8').read(), 'lerobot_env_worker.py', 'exec'))";
  return {.program = python,
          .arguments = {"-u", "-X", "faulthandler", "-c", kRunScript},
          .environment = gym_worker_environment(options.environment),
          .descriptors = std::move(descriptors),
          .label = name,
          .is_quiet = is_quiet};
}

// "ValueError: message", and the message alone where the worker itself objects.
std::string error_text(const Json& error) {
  const auto message = error.at("message").get<std::string>();
  const Json& type = error.at("error");
  return type.is_null() ? message : fmt::format("{}: {}", type.get<std::string>(), message);
}

std::string_view without_newlines(std::string_view text) {
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

std::string with_last_output(const std::string& message, const std::string& output) {
  return output.empty() ? message : fmt::format("{}. Its last words:\n{}", message, without_newlines(output));
}

double seconds(milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

GymWorker::GymWorker(GymOptions options, std::string name, bool is_quiet)
    : options_(std::move(options)),
      name_(std::move(name)),
      python_(find_gym_python(options_.python)),
      channel_(connect_to(other_end_)),
      process_(
          start_of(options_, python_, name_, is_quiet, {other_end_.get(), memory_.descriptor(), script_file().get()})) {
  other_end_.close();
}

GymWorker::~GymWorker() {
  try {
    if (!failure_ && !is_busy_) {
      send({{"op", "close"}});
      process_.wait_for_end(options_.timeouts.close);
    }
  } catch (const Error&) {  // it has ended by itself
  }
}

void GymWorker::begin_make(int64_t index) {
  std::vector<std::string> sys_path;
  for (const auto& folder : options_.sys_path) sys_path.push_back(std::filesystem::absolute(folder).string());
  send({{"op", "make"},
        {"env", index},
        {"gym_id", options_.gym_id},
        {"imports", options_.imports},
        {"sys_path", sys_path},
        {"kwargs", options_.kwargs},
        {"max_episode_steps", options_.max_episode_steps ? Json(*options_.max_episode_steps) : Json()},
        {"disable_env_checker", options_.disable_env_checker}});
}

Json GymWorker::finish_make() {
  Json answer = receive("make", options_.timeouts.make);
  if (answer.contains("error")) throw_not_made(answer);
  process_.speak_up();
  return answer;
}

Json GymWorker::request(const Json& request) {
  const std::lock_guard lock(mutex_);
  const auto operation = request.at("op").get<std::string>();
  send(request);
  Json answer = receive(operation, options_.timeouts.call);
  if (answer.contains("error")) {
    log_traceback(answer);
    throw RunError(fmt::format("{}: {} failed: {}", options_.gym_id, operation, error_text(answer)));
  }
  return answer;
}

void GymWorker::read(size_t offset, std::span<std::byte> target) {
  const std::lock_guard lock(mutex_);
  std::ranges::copy(memory_.read(offset, target.size()), target.begin());
}

void GymWorker::send(const Json& request) {
  const std::string operation = request.at("op").get<std::string>();
  if (failure_) throw RunError(*failure_);
  const std::string text = to_python_json(request, {.indent = -1});
  std::string message(sizeof(uint32_t), '\0');
  const auto size = static_cast<uint32_t>(text.size());
  std::memcpy(message.data(), &size, sizeof size);  // the machine is little-endian, as for safetensors
  message += text;
  is_busy_ = true;
  for (size_t sent = 0; sent < message.size();) {
    const ssize_t part = ::send(channel_.get(), message.data() + sent, message.size() - sent, MSG_NOSIGNAL);
    if (part >= 0) {
      sent += static_cast<size_t>(part);
    } else if (errno != EINTR) {
      throw_ended(operation);
    }
  }
}

Json GymWorker::receive(std::string_view operation, milliseconds timeout) {
  if (failure_) throw RunError(*failure_);
  const auto deadline = Clock::now() + timeout;
  uint32_t size = 0;
  receive_bytes({reinterpret_cast<char*>(&size), sizeof size}, operation, deadline);
  if (size > kLongestAnswer) {
    failure_ = fmt::format(
        "{}: the environment's process sent what is no answer; does the package write to file "
        "descriptor 3?",
        options_.gym_id);
    process_.kill();
    throw RunError(*failure_);
  }
  std::string text(size, '\0');
  receive_bytes(text, operation, deadline);
  is_busy_ = false;
  return parse_json(text, "an environment's answer");
}

void GymWorker::receive_bytes(std::span<char> target, std::string_view operation, Clock::time_point deadline) {
  while (!target.empty()) {
    pollfd waiting{channel_.get(), POLLIN, 0};
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    const auto wait = std::clamp(left, milliseconds(0), kLookAround);
    const int ready = ::poll(&waiting, 1, static_cast<int>(wait.count()));
    if (ready > 0) {
      const ssize_t size = ::recv(channel_.get(), target.data(), target.size(), 0);
      if (size > 0) target = target.subspan(static_cast<size_t>(size));
      if (size == 0 || (size < 0 && errno != EINTR)) throw_ended(operation);
      continue;
    }
    if (ready < 0 && errno != EINTR) throw_ended(operation);
    // What the environment started may hold the channel open, so that its end does not show there.
    if (process_.has_ended()) throw_ended(operation);
    if (Clock::now() >= deadline) throw_timed_out(operation);
    if (operation == "make" && signals::stop_requested()) {
      failure_ = "stopped";
      process_.kill();
      signals::throw_if_stop_requested("before the environment was made");
    }
  }
}

void GymWorker::throw_ended(std::string_view operation) {
  if (!process_.wait_for_end(options_.timeouts.close)) process_.kill();
  // A program that is no Python, or a broken one, ends here.
  const std::string interpreter =
      operation == "make" ? fmt::format(" (interpreter '{}'; --env.python names another)", python_.string()) : "";
  failure_ = with_last_output(fmt::format("{}: the environment's process {} during {}{}", options_.gym_id,
                                          process_.how_it_ended(), operation, interpreter),
                              process_.last_output());
  throw RunError(*failure_);
}

void GymWorker::throw_timed_out(std::string_view operation) {
  process_.send_signal(SIGUSR1);  // has it write where it is
  process_.wait_for_end(kTimeForAStack);
  process_.kill();
  failure_ = with_last_output(
      fmt::format("{}: {} has not returned within {} s, so the environment's process was ended", options_.gym_id,
                  operation, seconds(operation == "make" ? options_.timeouts.make : options_.timeouts.call)),
      process_.last_output());
  throw RunError(*failure_);
}

void GymWorker::throw_not_made(const Json& error) {
  const Json& missing = error.at("missing");
  if (missing.is_string()) {
    const auto package = missing.get<std::string>();
    throw UsageError(fmt::format(
        "Package '{0}' is missing, which environment {1} needs: install it for this interpreter ('{2}' -m pip install "
        "{0}), add the folder that holds it to PYTHONPATH, or name another interpreter with --env.python",
        package.substr(0, package.find('.')), options_.gym_id, python_.string()));
  }
  log_traceback(error);
  throw UsageError(fmt::format("environment {} cannot be made: {}", options_.gym_id, error_text(error)));
}

void GymWorker::log_traceback(const Json& error) const {
  const Json& traceback = error.at("traceback");
  if (traceback.is_string()) {
    log::error(fmt::format("{}: {}", name_, without_newlines(traceback.get_ref<const std::string&>())));
  }
}

}  // namespace lerobot::env
