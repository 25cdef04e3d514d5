// Every flag there is, made from the fields.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lerobot/config/schema.hpp"

namespace lerobot::config {

// Chosen types by section: {"policy": "act"}.
using ChosenTypes = std::map<std::string, std::string>;

// Who asks: for the head of --help.
struct Program {
  std::string_view name;
  std::string_view purpose;
  std::string_view config_path_help;
};

// A CLI11 option a flag, grouped by section. CLI11 holds the table, lets the last value count and prints the help; the
// text of values is ours to read (value_text.hpp), argv too (arguments.hpp).
class FlagTable {
 public:
  // With the flags of the chosen types, or of all types where `all_types` is set (the chosen one comes first).
  FlagTable(Section& root, const ChosenTypes& chosen, bool all_types, const Program& program);

  bool contains(const std::string& name) const { return app_->get_option_no_throw("--" + name) != nullptr; }
  bool is_text(const std::string& name) const { return text_flags_.contains(name); }
  std::string hint(const std::string& name) const;  // " Did you mean --policy.chunk_size?" or ""

  void add(const std::string& name, const std::string& value);  // a value from the command line
  // Values given, whole sections before what is inside them.
  std::vector<std::pair<std::string, std::string>> values() const;

  std::string help() const { return app_->help(); }

 private:
  void add_section(Section& section, const std::string& prefix, const std::string& group, const ChosenTypes& chosen,
                   bool all_types, bool implemented);
  void add_slot(const Field& field, const std::string& name, const std::string& group, const ChosenTypes& chosen,
                bool all_types, bool implemented);
  void add_flag(const std::string& name, const std::string& group, const std::string& value_hint,
                const std::string& help, bool is_text);

  std::unique_ptr<CLI::App> app_;
  std::vector<std::string> names_;  // in order of declaration
  std::set<std::string> text_flags_;
};

}  // namespace lerobot::config
