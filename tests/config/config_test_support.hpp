// What the tests of the command line share: the real registries, and a folder of its own with the files of
// tests/data/cli as the current folder.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "lerobot/config/command_line.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/optim/optimizer_configs.hpp"
#include "lerobot/optim/scheduler_configs.hpp"
#include "lerobot/policy/registry.hpp"

namespace lerobot {

inline Registries real_registries() {
  Registries registries;
  registries.policies = policy_choices(policy::register_policies());
  registries.optimizers = optim::register_optimizers();
  registries.schedulers = optim::register_schedulers();
  return registries;
}

class CommandLineTest : public ::testing::Test {
 protected:
  using Args = std::vector<std::string>;

  void SetUp() override {
    previous_ = std::filesystem::current_path();
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() / (std::string("lerobot_config_") + info->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::copy(std::filesystem::path(LEROBOT_TEST_DATA) / "cli", folder_,
                          std::filesystem::copy_options::recursive);
    std::filesystem::current_path(folder_);
  }
  void TearDown() override {
    std::filesystem::current_path(previous_);
    std::filesystem::remove_all(folder_);
  }

  static void write(const std::filesystem::path& path, const std::string& text) { std::ofstream(path) << text; }

  // Everything LeRobot's own parser would do, nothing more.
  config::ParsedCommand read(const Args& args) {
    config::Problems problems;
    auto command = config::read_command_line(args, registries_, "lerobot-train", problems);
    problems.throw_if_any();
    return command;
  }
  config::ParsedCommand parse(const Args& args) {
    return config::parse_command_line(args, registries_, "lerobot-train");
  }
  // The message of the UsageError, or "" when there is none.
  std::string error_of(const Args& args) {
    try {
      parse(args);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }
  static Args with(Args args, const Args& more) {
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }

  const Args base_ = {"--dataset.repo_id=a/b", "--policy.type=act", "--policy.device=cpu",
                      "--policy.push_to_hub=false"};
  Registries registries_ = real_registries();
  std::filesystem::path folder_;

 private:
  std::filesystem::path previous_;
};

}  // namespace lerobot
