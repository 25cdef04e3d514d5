// What the text of a flag's value means. LeRobot has two dialects: YAML 1.1, or, beside --config_path and for flags on
// top of --policy.path, JSON with everything that is not JSON taken as text.
#pragma once

#include <string>
#include <string_view>

#include "lerobot/core/json.hpp"

namespace lerobot::config {

enum class Dialect { kYaml, kJson };

// For a field that is not text. Throws UsageError that names `source` when the text is not YAML.
Json parse_value(const std::string& text, Dialect dialect, std::string_view source);

// For a text field: the text as typed. Only null (in YAML also ~) means null, and quotes around the whole come off.
// LeRobot would read `no` as False and 1.50 as 1.5 here.
Json parse_text_value(const std::string& text, Dialect dialect);

}  // namespace lerobot::config
