#include "arguments.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lerobot/core/text.hpp"

namespace lerobot::config {
namespace {

// "--a=v" -> "a"; "--a" -> "a"; "" for anything else.
std::string flag_name(const std::string& token) {
  if (!token.starts_with("--")) return "";
  return token.substr(2, std::min(token.find('='), token.size()) - 2);
}

bool has_value(const std::string& token) {
  return token.find('=') != std::string::npos;
}

// -\d+ or -\d*\.\d+, as Python's argparse has it.
bool is_negative_number(std::string_view token) {
  constexpr std::string_view kDigits = "0123456789";
  if (!token.starts_with('-')) return false;
  token.remove_prefix(1);
  const size_t point = token.find_first_not_of(kDigits);
  if (point == token.npos) return !token.empty();
  const std::string_view fraction = token.substr(point + 1);
  return token[point] == '.' && !fraction.empty() && fraction.find_first_not_of(kDigits) == fraction.npos;
}

// May `token` be the value of the flag before it?
bool is_value(const std::string& token, const std::function<bool(const std::string&)>& is_known) {
  if (!token.starts_with('-') || token == "-") return true;
  if (is_known(flag_name(token))) return false;
  return is_negative_number(token) || token.find(' ') != std::string::npos;
}

}  // namespace

std::vector<Argument> split_arguments(std::span<const std::string> args,
                                      const std::function<bool(const std::string&)>& is_known,
                                      const std::function<std::string(const std::string&)>& hint, Problems& problems) {
  std::vector<Argument> arguments;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& token = args[i];
    const std::string name = flag_name(token);
    const bool value_follows = !has_value(token) && i + 1 < args.size() && is_value(args[i + 1], is_known);
    if (!is_valid_utf8(token)) {
      problems.add_line(fmt::format("argument {}: not valid UTF-8", i + 1));
    } else if (token == "--") {
      problems.add_line("--: flags come as --name=value; nothing may follow a bare --");
    } else if (name.empty() && token.starts_with('-')) {
      problems.add_line(fmt::format("{}: there is no such flag.{}", token, hint(token.substr(1, token.find('=') - 1))));
    } else if (name.empty()) {
      problems.add_line(fmt::format("'{}': not expected here; flags come as --name=value", token));
    } else if (!is_known(name)) {
      problems.add_line(fmt::format("--{}: there is no such flag.{}", name, hint(name)));
      if (value_follows) ++i;  // its value is no second mistake
    } else if (has_value(token)) {
      arguments.push_back({name, token.substr(token.find('=') + 1)});
    } else if (value_follows) {
      arguments.push_back({name, args[++i]});
    } else {
      problems.add_line(fmt::format("--{}: needs a value, as in --{}=…", name, name));
    }
  }
  return arguments;
}

bool asks_for_help(std::span<const std::string> args) {
  return std::ranges::any_of(args, [](const std::string& arg) { return arg == "--help" || arg == "-h"; });
}

bool asks_for_devices(std::span<const std::string> args) {
  return std::ranges::find(args, "--list_devices") != args.end();
}

std::string find_argument(std::span<const std::string> args, const std::string& name, bool take_last) {
  std::string value;
  for (size_t i = 0; i < args.size(); ++i) {
    if (flag_name(args[i]) != name) continue;
    if (has_value(args[i])) {
      value = args[i].substr(args[i].find('=') + 1);
    } else if (i + 1 < args.size() && !args[i + 1].starts_with("--")) {
      value = args[i + 1];
    } else {
      continue;
    }
    if (!take_last) return value;
  }
  return value;
}

}  // namespace lerobot::config
