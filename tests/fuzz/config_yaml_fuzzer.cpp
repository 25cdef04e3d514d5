// config/train_config.hpp: a configuration in YAML 1.1.
#include "config/yaml_1_1.hpp"
#include "config_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lerobot::fuzz::read_config("config.yaml", data, size,
                             [](std::string_view text) { return lerobot::config::parse_yaml(text, "config.yaml"); });
  return 0;
}
