#include "yaml_1_1.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>
#include <sstream>
#include <string>

#include "lerobot/core/error.hpp"
#include "lerobot/core/text.hpp"
#include "python_number.hpp"

namespace lerobot::config {
namespace {

// The patterns of YAML 1.1 in PyYAML's resolver (https://yaml.org/type/, yaml/resolver.py).
bool is_null(const std::string& text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

std::optional<bool> as_bool(std::string_view text) {
  for (const char* yes : {"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})
    if (text == yes) return true;
  for (const char* no : {"no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})
    if (text == no) return false;
  return std::nullopt;
}

// Takes matched text off the front, piece by piece. (std::regex recurses once a character: long text would end the
// program.)
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool is_at_end() const { return rest_.empty(); }

  bool one_of(std::string_view accepted) {
    if (rest_.empty() || accepted.find(rest_.front()) == accepted.npos) return false;
    rest_.remove_prefix(1);
    return true;
  }

  size_t run_of(std::string_view accepted) {
    const size_t length = std::min(rest_.find_first_not_of(accepted), rest_.size());
    rest_.remove_prefix(length);
    return length;
  }

  bool text(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  // (:[0-5]?[0-9])+
  bool sexagesimal_parts() {
    size_t parts = 0;
    for (; text(":"); ++parts) {
      const bool may_be_two = !rest_.empty() && rest_.front() <= '5';
      if (!one_of(kDigits)) return false;
      if (may_be_two) one_of(kDigits);
    }
    return parts > 0;
  }

  static constexpr std::string_view kDigits = "0123456789";

 private:
  std::string_view rest_;
};

// [-+]?0b[01_]+ | [-+]?0[0-7_]+ | [-+]?(0|[1-9][0-9_]*) | [-+]?0x[0-9a-fA-F_]+ | [-+]?[1-9][0-9_]*(:[0-5]?[0-9])+
bool looks_like_int(std::string_view text) {
  Scanner scanner(text);
  scanner.one_of("-+");
  if (scanner.text("0")) {
    if (scanner.text("b")) return scanner.run_of("01_") > 0 && scanner.is_at_end();
    if (scanner.text("x")) return scanner.run_of("0123456789abcdefABCDEF_") > 0 && scanner.is_at_end();
    scanner.run_of("01234567_");
    return scanner.is_at_end();
  }
  if (!scanner.one_of("123456789")) return false;
  scanner.run_of("0123456789_");
  return scanner.is_at_end() || (scanner.sexagesimal_parts() && scanner.is_at_end());
}

// ([eE][-+][0-9]+)? and then nothing.
bool is_exponent_or_end(Scanner scanner) {
  if (scanner.is_at_end()) return true;
  return scanner.one_of("eE") && scanner.one_of("-+") && scanner.run_of(Scanner::kDigits) > 0 && scanner.is_at_end();
}

// [-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)? | \.[0-9][0-9_]*([eE][-+][0-9]+)? |
// [-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]* | [-+]?\.(inf|Inf|INF) | \.(nan|NaN|NAN)
bool looks_like_float(std::string_view text) {
  Scanner scanner(text);
  const bool has_sign = scanner.one_of("-+");
  if (scanner.text(".")) {
    if (scanner.text("inf") || scanner.text("Inf") || scanner.text("INF")) return scanner.is_at_end();
    if (has_sign) return false;
    if (scanner.text("nan") || scanner.text("NaN") || scanner.text("NAN")) return scanner.is_at_end();
    if (!scanner.one_of(Scanner::kDigits)) return false;
    scanner.run_of("0123456789_");
    return is_exponent_or_end(scanner);
  }
  if (!scanner.one_of(Scanner::kDigits)) return false;
  scanner.run_of("0123456789_");
  if (scanner.text(".")) {
    scanner.run_of("0123456789_");
    return is_exponent_or_end(scanner);
  }
  if (!scanner.sexagesimal_parts() || !scanner.text(".")) return false;
  scanner.run_of("0123456789_");
  return scanner.is_at_end();
}

std::string without_underscores(std::string text) {
  std::erase(text, '_');
  return text;
}

// Takes a sign off the front; true for '-'.
bool take_sign(std::string& text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.erase(0, 1);
  return is_negative;
}

// "1:30" -> 90 in base 60; `parse` reads the last part, which may have a fraction.
template <class Number>
std::optional<Number> sexagesimal(const std::string& text, std::optional<Number> (*parse)(std::string_view)) {
  Number value = 0;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(':', begin), text.size());
    const auto part = parse(std::string_view(text).substr(begin, end - begin));
    if (!part || value > std::numeric_limits<int64_t>::max() / 64) return std::nullopt;
    value = value * 60 + *part;
    begin = end + 1;
  }
  return value;
}

// Digits alone, with the sign put in front, so that the smallest integer is one, too.
std::optional<int64_t> in_base(std::string_view digits, int base, bool is_negative) {
  int64_t value = 0;
  const std::string text = (is_negative ? "-" : "") + std::string(digits);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

Json int_value(const std::string& original, std::string_view source) {
  std::string text = without_underscores(original);
  const bool is_negative = take_sign(text);
  const std::string_view digits = text;
  std::optional<int64_t> value;
  if (text.find(':') != std::string::npos) {
    value = sexagesimal<int64_t>(text, &parse_python_int);
    if (value && is_negative) value = -*value;
  } else if (text.starts_with("0b")) {
    value = in_base(digits.substr(2), 2, is_negative);
  } else if (text.starts_with("0x")) {
    value = in_base(digits.substr(2), 16, is_negative);
  } else if (text.starts_with("0") && text.size() > 1) {
    value = in_base(digits.substr(1), 8, is_negative);
  } else {
    value = in_base(digits, 10, is_negative);
  }
  if (!value) throw UsageError(fmt::format("{}: {} is not an integer of 64 bits", source, original));
  return *value;
}

Json float_value(const std::string& original) {
  std::string text = without_underscores(original);
  const bool is_negative = take_sign(text);
  std::optional<double> value;
  if (text.find(':') != std::string::npos) {
    value = sexagesimal<double>(text, &parse_python_float);
  } else if (text.size() > 1 && text[0] == '.' && std::isalpha(static_cast<unsigned char>(text[1]))) {
    value = parse_python_float(std::string_view(text).substr(1));  // .inf, .nan
  } else {
    value = parse_python_float(text);
  }
  if (!value) return original;
  return is_negative ? -*value : *value;
}

Json plain_value(const std::string& text, std::string_view source) {
  if (is_null(text)) return nullptr;
  if (const auto value = as_bool(text)) return *value;
  if (looks_like_int(text)) return int_value(text, source);
  if (looks_like_float(text)) return float_value(text);
  return text;
}

// Turns nodes into JSON. An alias (*base) stands for its whole node again, so a short text can mean an endless or an
// astronomically large value: depth and number of values are limited.
class Converter {
 public:
  explicit Converter(std::string_view source) : source_(source) {}

  Json convert(const YAML::Node& node) {
    if (++values_ > kMostValues) fail(fmt::format("more than {} values, aliases (*) counted in full", kMostValues));
    if (depth_ == kDeepest) fail(fmt::format("nested deeper than {} levels", kDeepest));
    ++depth_;
    Json json = node.IsScalar() ? scalar(node) : node.IsSequence() ? sequence(node) : node.IsMap() ? map(node) : Json();
    --depth_;
    return json;
  }

 private:
  static constexpr int kDeepest = 512;
  static constexpr int kMostValues = 1'000'000;

  [[noreturn]] void fail(std::string_view problem) const { throw UsageError(fmt::format("{}: {}", source_, problem)); }

  Json scalar(const YAML::Node& node) const {
    constexpr std::string_view kStandardTags = "tag:yaml.org,2002:";
    const std::string& tag = node.Tag();
    if (tag == "!" || tag == std::string(kStandardTags) + "str") return node.Scalar();  // quoted, or said to be text
    if (tag == "?" || tag.empty() || tag.starts_with(kStandardTags)) return plain_value(node.Scalar(), source_);
    fail(fmt::format("the YAML tag {} is not known", tag));
  }

  Json sequence(const YAML::Node& node) {
    Json json = Json::array();
    for (const auto& item : node) json.push_back(convert(item));
    return json;
  }

  Json map(const YAML::Node& node) {
    Json json = Json::object();
    for (const auto& entry : node)
      if (entry.first.IsScalar() && entry.first.Scalar() == "<<") merge_into(entry.second, json);
    for (const auto& entry : node) {
      if (entry.first.IsNull()) {
        json["null"] = convert(entry.second);
      } else if (!entry.first.IsScalar()) {
        fail("a key in YAML must be text");
      } else if (entry.first.Scalar() != "<<") {
        json[entry.first.Scalar()] = convert(entry.second);
      }
    }
    return json;
  }

  // "<<: *base" puts the keys of another dict (or of several) below those written here.
  void merge_into(const YAML::Node& node, Json& json) {
    if (node.IsSequence()) {
      for (size_t i = node.size(); i-- > 0;) merge_dict(node[i], json);  // the first one counts most
    } else {
      merge_dict(node, json);
    }
  }

  void merge_dict(const YAML::Node& node, Json& json) {
    if (!node.IsMap()) fail("YAML's << needs a dict or a list of dicts");
    const Json other = convert(node);
    for (const auto& [key, value] : other.items()) json[key] = value;
  }

  std::string_view source_;
  int depth_ = 0;
  int values_ = 0;
};

// Counts documents and looks at nothing else.
class DocumentCounter : public YAML::EventHandler {
 public:
  int documents() const { return documents_; }

  void OnDocumentStart(const YAML::Mark&) override { ++documents_; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  int documents_ = 0;
};

// Not YAML::LoadAll: at some malformed texts the parser stands still, and LoadAll collects documents without end.
YAML::Node load_document(const std::string& text, std::string_view source) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentCounter counter;
  while (counter.documents() < 2 && parser.HandleNextDocument(counter)) {
  }
  if (counter.documents() > 1) throw UsageError(fmt::format("{}: one YAML document expected, got more", source));
  return YAML::Load(text);
}

}  // namespace

Json parse_yaml(std::string_view text, std::string_view source) {
  if (!is_valid_utf8(text)) throw UsageError(fmt::format("{}: not valid UTF-8 text", source));
  YAML::Node document;
  try {
    document = load_document(std::string(text), source);
  } catch (const YAML::Exception& error) {
    const std::string where =
        error.mark.is_null() ? "" : fmt::format(" (line {}, column {})", error.mark.line + 1, error.mark.column + 1);
    throw UsageError(fmt::format("{}: not valid YAML: {}{}", source, error.msg, where));
  }
  return Converter(source).convert(document);
}

}  // namespace lerobot::config
