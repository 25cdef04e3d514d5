#include "gym_python.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "lerobot/core/error.hpp"
#include "lerobot/env/gym_environment.hpp"

extern char** environ;

namespace lerobot::env {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

std::optional<fs::path> found_in_path(const std::string& name) {
  const std::string folders = variable("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  for (size_t start = 0; start <= folders.size();) {
    const size_t end = std::min(folders.find(':', start), folders.size());
    const fs::path candidate = fs::path(folders.substr(start, end - start)) / name;
    if (is_program(candidate)) return fs::absolute(candidate);
    start = end + 1;
  }
  return std::nullopt;
}

}  // namespace

fs::path find_gym_python(const std::string& python) {
  constexpr std::string_view kWayOut = "name the interpreter that has the environment's package with --env.python";
  if (python.empty()) {
    if (const auto folder = variable("VIRTUAL_ENV")) {
      const fs::path program = fs::path(*folder) / "bin" / "python";
      if (is_program(program)) return program;
      throw UsageError(
          fmt::format("no Python interpreter for the environment: $VIRTUAL_ENV is '{}', which has no "
                      "bin/python; activate a virtual environment that exists, or {}",
                      *folder, kWayOut));
    }
    if (const auto program = found_in_path("python3")) return *program;
    throw UsageError(
        fmt::format("no Python interpreter for the environment: there is no python3 in PATH; {}", kWayOut));
  }
  if (python.find('/') != std::string::npos) {
    if (is_program(python)) return fs::absolute(python);
    throw UsageError(fmt::format("--env.python: '{}' is not a program; {}", python, kWayOut));
  }
  if (const auto program = found_in_path(python)) return *program;
  throw UsageError(fmt::format("--env.python: there is no '{}' in PATH; {}", python, kWayOut));
}

std::vector<std::string> gym_worker_environment(const std::map<std::string, std::string>& extra) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  // MuJoCo opens a window unless told otherwise.
  if (!variables.contains("DISPLAY")) variables.emplace("MUJOCO_GL", "egl");
  variables.emplace("SDL_VIDEODRIVER", "dummy");
  variables.emplace("PYGAME_HIDE_SUPPORT_PROMPT", "1");
  variables.insert_or_assign("OMP_NUM_THREADS", std::string(1, '1'));
  for (const auto& [name, value] : extra) variables[name] = value;

  std::vector<std::string> result;
  for (const auto& [name, value] : variables) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

}  // namespace lerobot::env
