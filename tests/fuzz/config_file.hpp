// A configuration file, as it is read, completed and written back.
#pragma once

#include <string_view>

#include "fuzz_target.hpp"
#include "lerobot/config/command_line.hpp"
#include "registries.hpp"

namespace lerobot::fuzz {

// `parse` gives the content of a file called `name`.
template <class Parse>
void read_config(const char* name, const uint8_t* data, size_t size, Parse&& parse) {
  static const Folder folder;
  static const Registries types = registries();
  expect_a_result_or_an_error([&] {
    const Json content = parse(std::string_view(reinterpret_cast<const char*>(data), size));
    TrainPipelineConfig config(types);
    config::Problems problems;
    config::read_section(content, config, problems);
    to_python_json(to_train_config_json(config));
    if (config.policy) to_python_json(to_policy_config_json(*config.policy));
    complete(config, {}, problems);
    problems.throw_if_any();
  });
  // The whole way by --config_path is twenty times slower, as it lists every flag first.
  if (size % 16 != 0) return;
  const std::string flag = "--config_path=" + folder.write(name, data, size).string();
  expect_a_result_or_an_error([&] { config::parse_command_line({flag}, types, "lerobot-train"); });
}

}  // namespace lerobot::fuzz
