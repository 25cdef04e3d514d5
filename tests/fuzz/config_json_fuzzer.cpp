// config/train_config.hpp: a train_config.json with its policy, optimizer and scheduler sections.
#include "config_file.hpp"
#include "lerobot/core/json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lerobot::fuzz::read_config("train_config.json", data, size,
                             [](std::string_view text) { return lerobot::parse_json(text, "train_config.json"); });
  return 0;
}
