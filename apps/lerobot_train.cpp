// lerobot-train: trains a policy on a LeRobotDataset. LeRobot's command line; see lerobot-train --help.
#include <cstdio>

#include "lerobot/config/command_line.hpp"
#include "lerobot/core/file_system.hpp"
#include "lerobot/core/signals.hpp"
#include "lerobot/device/backends.hpp"
#include "lerobot/device/report.hpp"
#include "lerobot/train/program.hpp"
#include "lerobot/train/train.hpp"

int main(int argc, char** argv) {
  using namespace lerobot;
  return train::run_program("lerobot-train", [&] {
    signals::install_handlers();
    device::load_backends();  // before the first ATen call
    const policy::PolicyRegistry policies = policy::register_policies();
    config::ParsedCommand command =
        config::parse_command_line({argv + 1, argv + argc}, train::registries(policies), "lerobot-train");
    if (command.help) {
      std::fputs(command.help_text.c_str(), stdout);
    } else if (command.list_devices) {
      std::fputs(device::report().c_str(), stdout);
    } else {
      train::train(std::move(command), policies, local_file_system());
    }
  });
}
