// Collects everything that is wrong with a configuration, so that a user sees all of it at once.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lerobot::config {

// Knows where in the tree the caller stands: a section adds problems by its own field names and the user reads the
// whole flag ("--policy.chunk_size: must be at least 1, got 0"). Not thread-safe.
class Problems {
 public:
  // Steps into a section (or into an item of a list or dict) until destroyed.
  class Scope {
   public:
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

   private:
    friend class Problems;
    Scope(Problems& problems, std::string_view name, bool is_item);
    Problems& problems_;
    size_t path_size_;
    size_t item_size_;
  };

  [[nodiscard]] Scope enter(std::string_view section);
  [[nodiscard]] Scope enter_item(std::string_view key);  // has no flag of its own: named inside the message

  // `field`: a field of the current section, "" for the section itself.
  void add(std::string_view field, std::string_view message);
  void add_line(std::string line);  // without a flag in front
  // `field` is none of the current section's; `details` ends the sentence ("… of type 'act'. Did you mean `x`?"). Where
  // it stands in a file, the way out is said too.
  void add_unknown(std::string_view field, std::string_view details);
  void warn(std::string_view field, std::string_view message);  // worth saying, not an error

  // The file that the value of a field ("policy.chunk_size") came from, or "".
  using Source = std::function<std::string(std::string_view dotted_field)>;
  void set_source(Source source) { source_ = std::move(source); }

  // The full flag of a field of the current section: "--policy.chunk_size".
  std::string flag(std::string_view field) const;

  bool empty() const { return lines_.empty(); }
  const std::vector<std::string>& lines() const { return lines_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  void throw_if_any() const;  // UsageError, one problem a line

 private:
  std::string line(std::string_view field, std::string_view message, std::string_view way_out = "") const;

  std::string path_;  // "policy."
  std::string item_;  // "`observation.state`: "
  Source source_;
  std::vector<std::string> lines_;
  std::vector<std::string> warnings_;
};

}  // namespace lerobot::config
