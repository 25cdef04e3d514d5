// config/command_line.hpp: flags, one a line; in the YAML dialect, and beside a --config_path in the JSON one.
#include <string>
#include <vector>

#include "fuzz_target.hpp"
#include "lerobot/config/command_line.hpp"
#include "registries.hpp"

using namespace lerobot;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  static const Registries types = fuzz::registries();
  static const std::string config_path = "--config_path=" + folder.write("train_config.json", data, 0).string();
  std::ofstream(folder.path() / "train_config.json") << R"({"policy": {"type": "act"}})";

  std::vector<std::string> args(1);
  for (const uint8_t* byte = data; byte != data + size; ++byte) {
    if (*byte == '\n') {
      args.emplace_back();
    } else if (*byte != '\0') {  // which no argument can hold
      args.back() += static_cast<char>(*byte);
    }
  }
  // These would read any file of this machine.
  std::erase_if(args, [](const std::string& arg) { return arg.find("path") != std::string::npos; });
  for (const bool beside_a_file : {false, true}) {
    if (beside_a_file) args.insert(args.begin(), config_path);
    fuzz::expect_a_result_or_an_error([&] {
      config::Problems problems;
      const auto command = config::read_command_line(args, types, "lerobot-train", problems);
      if (command.help) return;
      to_python_json(to_train_config_json(*command.config));
      problems.throw_if_any();
    });
  }
  return 0;
}
