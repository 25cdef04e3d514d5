#include "gym_test_environments.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "lerobot/core/error.hpp"

namespace lerobot::env {
namespace {

bool succeeds(const std::filesystem::path& python, const char* code) {
  return std::system(fmt::format("'{}' -c '{}' 2>/dev/null", python.string(), code).c_str()) == 0;
}

bool has_numpy(const std::filesystem::path& python) {
  return succeeds(python, "import sys, numpy; assert sys.version_info >= (3, 9)");
}

std::filesystem::path peer_python() {
  const char* const peer = std::getenv("LEROBOT_PEER");
  const char* const home = std::getenv("HOME");
  const std::filesystem::path folder =
      peer != nullptr ? peer : std::filesystem::path(home == nullptr ? "/" : home) / ".cache" / "lerobot-peer";
  return folder / "bin" / "python";
}

std::filesystem::path find_python_with_numpy() {
  if (const char* const named = std::getenv("LEROBOT_TEST_PYTHON")) {
    const std::filesystem::path python = find_gym_python(named);
    if (!has_numpy(python)) throw std::runtime_error(fmt::format("LEROBOT_TEST_PYTHON: '{}' has no numpy", named));
    return python;
  }
  try {
    if (const std::filesystem::path python = find_gym_python(""); has_numpy(python)) return python;
  } catch (const UsageError&) {  // there is no Python at all
  }
  return has_numpy(peer_python()) ? peer_python() : std::filesystem::path();
}

bool has_gymnasium() {
  static const bool has = succeeds(python_with_numpy(), "import gymnasium");
  return has;
}

}  // namespace

std::filesystem::path python_with_numpy() {
  static const std::filesystem::path python = find_python_with_numpy();
  return python;
}

bool python_has_package(const std::string& name) {
  return !python_with_numpy().empty() && succeeds(python_with_numpy(), ("import " + name).c_str());
}

GymOptions test_options(const std::string& name, Json kwargs) {
  GymOptions options;
  options.gym_id = "gym_tests/" + name;
  options.kwargs = std::move(kwargs);
  options.python = python_with_numpy().string();
  const std::filesystem::path packages = LEROBOT_TEST_PYTHON_PACKAGES;
  options.sys_path = {packages};
  if (!has_gymnasium()) options.sys_path.push_back(packages / "stand_in");
  options.environment = {{"PYTHONDONTWRITEBYTECODE", "1"}};
  return options;
}

std::unique_ptr<GymEnvironment> make_test_environment(const std::string& name, Json kwargs) {
  return std::move(make_gym_environments(test_options(name, std::move(kwargs)), 1, true).front());
}

GymOptions trouble(const std::string& what, const std::string& where) {
  return test_options("Trouble-v0", {{"what", what}, {"where", where}});
}

}  // namespace lerobot::env
