// Reading JSON with the place of every mistake.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "lerobot/core/error.hpp"
#include "lerobot/core/json.hpp"
#include "lerobot/core/text.hpp"
#include "utf8.hpp"

namespace lerobot {
namespace {

// Finds the keys of an object that is being filled. Json itself compares them one by one, which is quickest for a few,
// but an object of a hundred thousand (the header of a large safetensors file) would take minutes.
class KeyPlaces {
 public:
  // Where `key` stands in `entries`; when it is new, where it will stand: at the end.
  size_t of(const std::string& key, const Json::object_t& entries) {
    if (entries.size() < kFew) {
      const auto found = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.first == key; });
      return static_cast<size_t>(found - entries.begin());
    }
    for (; indexed_ < entries.size(); ++indexed_) places_.emplace((entries.begin() + indexed_)->first, indexed_);
    const auto found = places_.find(key);
    return found == places_.end() ? entries.size() : found->second;
  }

 private:
  static constexpr size_t kFew = 32;
  std::unordered_map<std::string, size_t> places_;
  size_t indexed_ = 0;  // entries that are in places_
};

class Parser {
 public:
  Parser(std::string_view text, std::string_view source, DuplicateKeys duplicate_keys)
      : text_(text), source_(source), duplicate_keys_(duplicate_keys) {}

  Json document() {
    if (!is_valid_utf8(text_)) throw UsageError(fmt::format("{}: not valid UTF-8 text", source_));
    if (text_.starts_with("\xEF\xBB\xBF")) position_ = 3;  // a byte order mark, as Windows editors write it
    skip_space();
    Json value = this->value(0);
    skip_space();
    if (position_ != text_.size()) fail("unexpected text after the end of the JSON value");
    return value;
  }

 private:
  static constexpr int kDeepest = 512;

  [[noreturn]] void fail(std::string_view problem) const { fail_at(position_, problem); }

  [[noreturn]] void fail_at(size_t position, std::string_view problem) const {
    size_t line = 1;
    size_t line_start = 0;
    for (size_t i = 0; i < position; ++i) {
      if (text_[i] == '\n') {
        ++line;
        line_start = i + 1;
      }
    }
    throw UsageError(fmt::format("{}: line {}, column {}: {}", source_, line, position - line_start + 1, problem));
  }

  // What stands at the position, for messages.
  std::string found() const {
    if (position_ >= text_.size()) return "the end of the text";
    size_t end = position_;
    next_code_point(text_, end);
    return fmt::format("`{}`", text_.substr(position_, end - position_));
  }

  bool at(char c) const { return position_ < text_.size() && text_[position_] == c; }

  void skip_space() {
    while (at(' ') || at('\t') || at('\n') || at('\r')) ++position_;
  }

  bool take(std::string_view token) {
    if (!text_.substr(position_).starts_with(token)) return false;
    position_ += token.size();
    return true;
  }

  Json value(int depth) {
    if (depth > kDeepest) fail(fmt::format("nested deeper than {} levels", kDeepest));
    if (at('{')) return object(depth);
    if (at('[')) return array(depth);
    if (at('"')) return string();
    if (take("null")) return nullptr;
    if (take("true")) return true;
    if (take("false")) return false;
    if (take("NaN")) return std::numeric_limits<double>::quiet_NaN();
    if (take("Infinity")) return std::numeric_limits<double>::infinity();
    if (take("-Infinity")) return -std::numeric_limits<double>::infinity();
    return number();
  }

  Json object(int depth) {
    Json::object_t entries;
    KeyPlaces places;
    ++position_;
    skip_space();
    if (take("}")) return entries;
    while (true) {
      if (!at('"')) fail(fmt::format("expected a key in double quotes, found {}", found()));
      const size_t key_position = position_;
      std::string key = string();
      const size_t place = places.of(key, entries);
      if (duplicate_keys_ == DuplicateKeys::kRefuse && place < entries.size()) {
        fail_at(key_position, fmt::format("the key \"{}\" stands twice", key));
      }
      skip_space();
      if (!take(":")) fail(fmt::format("expected `:` after the key \"{}\", found {}", key, found()));
      skip_space();
      Json item = value(depth + 1);
      if (place < entries.size()) {
        (entries.begin() + place)->second = std::move(item);
      } else {
        entries.emplace_back(std::move(key), std::move(item));
      }
      skip_space();
      if (take("}")) return entries;
      if (!take(",")) fail(fmt::format("expected `,` or `}}`, found {}", found()));
      skip_space();
    }
  }

  Json array(int depth) {
    Json result = Json::array();
    ++position_;
    skip_space();
    if (take("]")) return result;
    while (true) {
      result.push_back(value(depth + 1));
      skip_space();
      if (take("]")) return result;
      if (!take(",")) fail(fmt::format("expected `,` or `]`, found {}", found()));
      skip_space();
    }
  }

  std::string string() {
    const size_t begin = position_++;
    std::string result;
    while (true) {
      const size_t run = position_;
      while (position_ < text_.size() && text_[position_] != '"' && text_[position_] != '\\' &&
             static_cast<unsigned char>(text_[position_]) >= 0x20) {
        ++position_;
      }
      result.append(text_, run, position_ - run);
      if (position_ >= text_.size()) fail_at(begin, "the string that begins here has no end");
      if (take("\"")) return result;
      if (!at('\\')) fail("a control character inside a string must be escaped");
      escape(result);
    }
  }

  void escape(std::string& result) {
    ++position_;
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (position_ < text_.size()) {
      const size_t which = kLetters.find(text_[position_]);
      if (which != std::string_view::npos) {
        result += kMeanings[which];
        ++position_;
        return;
      }
    }
    if (!take("u")) fail(fmt::format("unknown escape: a backslash before {}", found()));
    uint32_t code_point = hex4();
    if (code_point >= 0xD800 && code_point < 0xDC00) {
      const bool pair_follows = take("\\u");
      const uint32_t low = pair_follows ? hex4() : 0;
      if (low < 0xDC00 || low > 0xDFFF) fail("a \\u escape is half of a surrogate pair");
      code_point = 0x10000 + ((code_point - 0xD800) << 10) + (low - 0xDC00);
    } else if (code_point >= 0xDC00 && code_point < 0xE000) {
      fail("a \\u escape is half of a surrogate pair");
    }
    append_utf8(result, code_point);
  }

  uint32_t hex4() {
    uint32_t value = 0;
    const std::string_view digits = text_.substr(position_, 4);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != 4 || error != std::errc() || end != digits.data() + 4) {
      fail("\\u must be followed by four hexadecimal digits");
    }
    position_ += 4;
    return value;
  }

  static void append_utf8(std::string& out, uint32_t code_point) {
    const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
    if (code_point < 0x80) {
      put(code_point);
      return;
    }
    const int continuation_bytes = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
    put((0xFF00 >> (continuation_bytes + 1) & 0xFF) | code_point >> (6 * continuation_bytes));
    for (int k = continuation_bytes - 1; k >= 0; --k) put(0x80 | (code_point >> (6 * k) & 0x3F));
  }

  size_t digits() {
    const size_t begin = position_;
    while (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9') ++position_;
    return position_ - begin;
  }

  // RFC 8259, section 6. A point or an exponent makes it a float, as in Python.
  Json number() {
    const size_t begin = position_;
    take("-");
    if (!take("0") && digits() == 0) {
      position_ = begin;
      fail(fmt::format("expected a value, found {}", found()));
    }
    bool is_float = false;
    if (take(".")) {
      is_float = true;
      if (digits() == 0) fail(fmt::format("expected a digit after the point, found {}", found()));
    }
    if (take("e") || take("E")) {
      is_float = true;
      if (!take("+")) take("-");
      if (digits() == 0) fail(fmt::format("expected a digit in the exponent, found {}", found()));
    }
    const std::string_view token = text_.substr(begin, position_ - begin);
    return is_float ? Json(float_of(token)) : integer_of(token, begin);
  }

  static double float_of(std::string_view token) {
    double value = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    // Too large or too small for a double: infinity or zero, as Python reads it; from_chars leaves that to strtod.
    return error == std::errc() ? value : std::strtod(std::string(token).c_str(), nullptr);
  }

  Json integer_of(std::string_view token, size_t begin) const {
    int64_t value = 0;
    const char* const last = token.data() + token.size();
    if (std::from_chars(token.data(), last, value).ec == std::errc()) return value;
    uint64_t large = 0;
    if (std::from_chars(token.data(), last, large).ec == std::errc()) return large;
    fail_at(begin, fmt::format("the integer {} does not fit in 64 bits", token));
  }

  std::string_view text_;
  std::string_view source_;
  DuplicateKeys duplicate_keys_;
  size_t position_ = 0;
};

}  // namespace

Json parse_json(std::string_view text, std::string_view source, DuplicateKeys duplicate_keys) {
  return Parser(text, source, duplicate_keys).document();
}

Json read_json(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw UsageError(fmt::format("{}: no such file", path.string()));
  if (std::filesystem::is_directory(status)) {
    throw UsageError(fmt::format("{}: is a directory; a JSON file is needed", path.string()));
  }
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file)
    throw UsageError(fmt::format("{}: cannot be read ({})", path.string(), std::generic_category().message(errno)));
  return parse_json(text, path.string());
}

}  // namespace lerobot
