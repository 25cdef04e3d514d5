#include "flag_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "lerobot/core/text.hpp"

namespace lerobot::config {
namespace {

std::string with_default(const Field& field) {
  if (field.options.required) return field.value->type_name() + " (required)";
  return fmt::format("{} = {}", field.value->type_name(), brief(field.value->to_json()));
}

std::string last_part(const std::string& name) {
  return name.substr(name.rfind('.') + 1);
}

size_t depth(const std::string& name) {
  return static_cast<size_t>(std::ranges::count(name, '.'));
}

// Names that LeRobot changed over time.
std::string renamed(const std::string& name) {
  const std::map<std::string, std::string> kRenamed = {{"eval_freq", "env_eval_freq"},
                                                       {"dataset_repo_id", "dataset.repo_id"},
                                                       {"device", "policy.device"},
                                                       {"use_amp", "accelerator.mixed_precision"},
                                                       {"offline.steps", "steps"}};
  const auto found = kRenamed.find(name);
  return found == kRenamed.end() ? "" : found->second;
}

}  // namespace

FlagTable::FlagTable(Section& root, const ChosenTypes& chosen, bool all_types, const Program& program)
    : app_(std::make_unique<CLI::App>(std::string(program.purpose), std::string(program.name))) {
  app_->set_help_flag("-h,--help", "Print this help; with --policy.type=act also the flags of that type");
  app_->add_flag("--list_devices")
      ->description("Print what this machine can run on, and why not on more, instead of a run");
  app_->get_formatter()->column_width(58);
  add_flag("config_path", "run", "path", std::string(program.config_path_help), true);
  add_section(root, "", "run", chosen, all_types, true);
}

void FlagTable::add_flag(const std::string& name, const std::string& group, const std::string& value_hint,
                         const std::string& help, bool is_text) {
  if (std::ranges::find(names_, name) != names_.end()) return;  // another type's field of the same name
  names_.push_back(name);
  if (is_text) text_flags_.insert(name);
  app_->add_option("--" + name, help)
      ->group(group)
      ->option_text(value_hint)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void FlagTable::add_section(Section& section, const std::string& prefix, const std::string& group,
                            const ChosenTypes& chosen, bool all_types, bool implemented) {
  const auto fields = fields_of(section);
  for (const bool slots : {false, true}) {  // plain fields first, so that groups stay together
    for (const Field& field : fields) {
      if (!field.options.has_flag || (field.value->slot() != nullptr) != slots) continue;
      const std::string name = prefix + field.name;
      const bool is_here = implemented && field.options.implemented;
      if (slots) {
        add_slot(field, name, prefix.empty() ? name : group, chosen, all_types, is_here);
      } else {
        add_flag(name, group, with_default(field), field.help + (is_here ? "" : " (not yet)"), field.value->is_text());
      }
    }
  }
}

void FlagTable::add_slot(const Field& field, const std::string& name, const std::string& group,
                         const ChosenTypes& chosen, bool all_types, bool implemented) {
  const SectionSlot& slot = *field.value->slot();
  add_flag(name, group, field.value->type_name(), field.help + ", as a whole" + (implemented ? "" : " (not yet)"),
           false);
  const std::string prefix = name + ".";
  if (!slot.is_choice()) {
    const auto made = slot.section() ? nullptr : slot.make("");
    add_section(made ? *made : *slot.section(), prefix, group, chosen, all_types, implemented);
    return;
  }
  const auto types = slot.types();
  add_flag(prefix + "type", group, types.empty() ? "(none yet)" : join(types, "|"),
           fmt::format("Type of {}{}", name, types.empty() ? " (not yet)" : ""), true);
  if (name == "policy") {
    add_flag("policy.path", group, "path",
             "Start from the trained policy in this folder (or cached Hub repository), instead of --policy.type", true);
  }
  const auto found = chosen.find(name);
  std::vector<std::string> shown;
  if (found != chosen.end()) shown.push_back(found->second);
  if (all_types) shown.insert(shown.end(), types.begin(), types.end());
  for (const std::string& type : shown) {
    if (const auto made = slot.make(type)) add_section(*made, prefix, group, chosen, all_types, implemented);
  }
}

std::string FlagTable::hint(const std::string& given) const {
  std::string name = given;
  std::ranges::replace(name, '-', '_');
  if (contains(name)) return fmt::format(" Did you mean --{}?", name);
  if (const std::string now = renamed(name); !now.empty()) return fmt::format(" Did you mean --{}?", now);
  std::vector<std::string> same_ending;  // the section was forgotten, or is another one
  for (const std::string& candidate : names_)
    if (depth(candidate) > 0 && last_part(candidate) == last_part(name)) same_ending.push_back("--" + candidate);
  if (!same_ending.empty() && same_ending.size() <= 3) {
    return fmt::format(" Did you mean {}?", join(same_ending, " or "));
  }
  const std::string match = closest_match(name, names_);
  return match.empty() ? "" : fmt::format(" Did you mean --{}?", match);
}

void FlagTable::add(const std::string& name, const std::string& value) {
  app_->get_option("--" + name)->add_result(value);
}

std::vector<std::pair<std::string, std::string>> FlagTable::values() const {
  std::vector<std::pair<std::string, std::string>> values;
  for (const std::string& name : names_) {
    const auto results = app_->get_option("--" + name)->reduced_results();
    if (!results.empty()) values.emplace_back(name, results.back());
  }
  std::ranges::stable_sort(values, {}, [](const auto& value) { return depth(value.first); });
  return values;
}

}  // namespace lerobot::config
