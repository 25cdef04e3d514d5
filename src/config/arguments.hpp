// The first pass over argv: pairs of flag and value, by the rules of Python's argparse without abbreviations.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lerobot/config/problems.hpp"

namespace lerobot::config {

struct Argument {
  std::string name;  // without dashes: "policy.chunk_size"
  std::string value;
};

// `is_known(name)`: there is such a flag. `hint(name)`: " Did you mean …?" or "" for one there is not.
// "--a=v" and "--a v"; a separate value may be a negative number or hold a space, but not look like a flag otherwise.
// Adds a problem for each unknown flag, missing value and stray word.
std::vector<Argument> split_arguments(std::span<const std::string> args,
                                      const std::function<bool(const std::string&)>& is_known,
                                      const std::function<std::string(const std::string&)>& hint, Problems& problems);

bool asks_for_help(std::span<const std::string> args);     // --help or -h anywhere
bool asks_for_devices(std::span<const std::string> args);  // --list_devices anywhere

// The value of the first (`take_last`: last) "--name=v" or "--name v"; "" when there is none.
std::string find_argument(std::span<const std::string> args, const std::string& name, bool take_last);

}  // namespace lerobot::config
