#include "lerobot/config/problems.hpp"

#include <fmt/format.h>

#include "lerobot/core/error.hpp"
#include "lerobot/core/text.hpp"

namespace lerobot::config {

Problems::Scope::Scope(Problems& problems, std::string_view name, bool is_item)
    : problems_(problems), path_size_(problems.path_.size()), item_size_(problems.item_.size()) {
  if (is_item) {
    problems_.item_ += fmt::format("`{}`: ", name);
  } else if (problems_.item_.empty()) {
    problems_.path_ += fmt::format("{}.", name);
  } else {
    problems_.item_ += fmt::format("`{}`: ", name);  // inside an item nothing has a flag any more
  }
}

Problems::Scope::~Scope() {
  problems_.path_.resize(path_size_);
  problems_.item_.resize(item_size_);
}

Problems::Scope Problems::enter(std::string_view section) {
  return {*this, section, false};
}
Problems::Scope Problems::enter_item(std::string_view key) {
  return {*this, key, true};
}

std::string Problems::flag(std::string_view field) const {
  if (!field.empty()) return fmt::format("--{}{}", path_, field);
  return "--" + path_.substr(0, path_.empty() ? 0 : path_.size() - 1);
}

std::string Problems::line(std::string_view field, std::string_view message, std::string_view way_out) const {
  if (path_.empty() && item_.empty() && field.empty()) return std::string(message);
  const bool in_item = !item_.empty();
  const std::string where = flag(in_item ? "" : field);
  const std::string file = source_ ? source_(where.substr(2)) : "";
  const std::string source = file.empty() ? "" : fmt::format(" (in {}{})", file, way_out);
  const std::string inner = in_item && !field.empty() ? fmt::format("`{}`: ", field) : "";
  return fmt::format("{}: {}{}{}{}", where, item_, inner, message, source);
}

void Problems::add(std::string_view field, std::string_view message) {
  lines_.push_back(line(field, message));
}
void Problems::add_unknown(std::string_view field, std::string_view details) {
  // The field is the file's and the type the command line's.
  const bool has_other_type =
      source_ && !path_.empty() && !source_(flag(field).substr(2)).empty() && source_(path_ + "type").empty();
  lines_.push_back(line(field, fmt::format("there is no such field{}", details),
                        has_other_type
                            ? fmt::format(": it belongs to another type than the --{}type given here; leave that flag "
                                          "out, or begin a run of its own with a configuration of its own",
                                          path_)
                            : ": correct it there or take it out; a field of a newer LeRobot has no effect here"));
}
void Problems::add_line(std::string line) {
  lines_.push_back(std::move(line));
}
void Problems::warn(std::string_view field, std::string_view message) {
  warnings_.push_back(line(field, message));
}

void Problems::throw_if_any() const {
  if (!lines_.empty()) throw UsageError(join(lines_, "\n"));
}

}  // namespace lerobot::config
