// JSON that keeps its key order, read with the file named in every error and written exactly as Python's json.dumps
// writes it (LeRobot's files are compared as text and read with strict int/float typing).
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lerobot {

using Json = nlohmann::ordered_json;

struct JsonStyle {
  int indent = 4;            // spaces a level; below 0: one line, ", " and ": " as separators
  bool ensure_ascii = true;  // non-ASCII text as \uXXXX
};

// Text as json.dumps(value, indent=, ensure_ascii=) gives it: floats as Python's repr (always with a point or an
// exponent, 1e-05), NaN and Infinity as Python spells them, no newline at the end. Throws UsageError for text that is
// not UTF-8.
std::string to_python_json(const Json& value, JsonStyle style = {});

// Python's repr of a float: shortest digits that read back equal; 10.0, 1e-05, inf, nan.
std::string python_float_repr(double value);

// What happens to a key that stands twice in one object.
enum class DuplicateKeys {
  kLastCounts,  // the last value, at the first one's place: what Python's dict does
  kRefuse,      // UsageError
};

// Parses `text` (UTF-8, a byte order mark is skipped). Accepts NaN, Infinity and -Infinity as Python's reader does. A
// number with a point or an exponent is a float, any other an integer; integers must fit in 64 bits.
// Throws UsageError that names `source` (a file or a flag), line and column (in bytes, from 1).
Json parse_json(std::string_view text, std::string_view source,
                DuplicateKeys duplicate_keys = DuplicateKeys::kLastCounts);

// Reads a whole JSON file. Throws UsageError when it is missing, unreadable or not JSON; the path is in the message.
Json read_json(const std::filesystem::path& path);

}  // namespace lerobot
