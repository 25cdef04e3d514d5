// Expected texts are what CPython 3.12's json.dumps and repr give for the same values.
#include "lerobot/core/json.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <limits>

#include "lerobot/core/error.hpp"
#include "support/temporary_directory.hpp"

namespace lerobot {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr const char* kEverything =
    R"({"a": 1, "b": 1.0, "c": [1e16, 1e15, 9.999e-05, 0.0001, -0.0, 1e22], "d": {}, "e": [],)"
    R"( "f": "é😀\u0007\u007f\u2028/\"\\", "g": NaN, "h": [-Infinity, Infinity], "i": null, "j": true,)"
    R"( "k": 18446744073709551615, "l": -9223372036854775808, "m": [{"x": []}]})";

TEST(ToPythonJson, WritesOneLineWithPythonsSeparators) {
  EXPECT_EQ(to_python_json(parse_json(kEverything, "test"), {.indent = -1}),
            R"({"a": 1, "b": 1.0, "c": [1e+16, 1000000000000000.0, 9.999e-05, 0.0001, -0.0, 1e+22], "d": {}, "e": [],)"
            R"( "f": "\u00e9\ud83d\ude00\u0007\u007f\u2028/\"\\", "g": NaN, "h": [-Infinity, Infinity],)"
            R"( "i": null, "j": true, "k": 18446744073709551615, "l": -9223372036854775808, "m": [{"x": []}]})");
}

TEST(ToPythonJson, IndentsByFourAndEscapesUnlessToldOtherwise) {
  EXPECT_EQ(to_python_json(parse_json(R"({"é": [1, {"x": []}], "y": {}})", "test")), R"({
    "\u00e9": [
        1,
        {
            "x": []
        }
    ],
    "y": {}
})");
}

TEST(ToPythonJson, KeepsTextAsItIsWithoutEnsureAscii) {
  EXPECT_EQ(to_python_json(parse_json(R"(["é😀\u0007\u007f\u2028/\"\\\b\f\n\r\t"])", "test"),
                           {.indent = 2, .ensure_ascii = false}),
            "[\n  \"é😀\\u0007\x7f\u2028/\\\"\\\\\\b\\f\\n\\r\\t\"\n]");
}

TEST(ToPythonJson, RefusesTextThatIsNotUtf8) {
  EXPECT_THROW(to_python_json(Json("\xff")), UsageError);
}

TEST(PythonFloatRepr, EqualsPythonsRepr) {
  const std::vector<std::pair<double, std::string>> table = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {10.0, "10.0"},
      {123456.0, "123456.0"},
      {12345.678, "12345.678"},
      {0.1, "0.1"},
      {0.1 + 0.2, "0.30000000000000004"},
      {1.0 / 3, "0.3333333333333333"},
      {1e-3, "0.001"},
      {1e-4, "0.0001"},
      {1.5e-4, "0.00015"},
      {9.999e-5, "9.999e-05"},
      {1e-5, "1e-05"},
      {1.5e-7, "1.5e-07"},
      {2.5e-10, "2.5e-10"},
      {1e15, "1000000000000000.0"},
      {9999999999999998.0, "9999999999999998.0"},
      {1e16, "1e+16"},
      {123456789012345680.0, "1.2345678901234568e+17"},
      {1e22, "1e+22"},
      {1e23, "1e+23"},
      {1e100, "1e+100"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {5e-324, "5e-324"},
      {2.2250738585072014e-308, "2.2250738585072014e-308"},
      {9007199254740993.0, "9007199254740992.0"},
      {-1e-05, "-1e-05"},
      {static_cast<double>(0.1f), "0.10000000149011612"},
      {std::numeric_limits<double>::infinity(), "inf"},
      {-std::numeric_limits<double>::infinity(), "-inf"},
      {std::numeric_limits<double>::quiet_NaN(), "nan"},
  };
  for (const auto& [value, text] : table) EXPECT_EQ(python_float_repr(value), text);
}

TEST(ParseJson, KeepsIntegersAndFloatsApart) {
  const Json value = parse_json("[1, 1.0, 1e2, -0, -9223372036854775808, 18446744073709551615]", "test");
  EXPECT_TRUE(value[0].is_number_integer());
  EXPECT_TRUE(value[1].is_number_float());
  EXPECT_TRUE(value[2].is_number_float());
  EXPECT_TRUE(value[3].is_number_integer());
  EXPECT_EQ(value[4].get<int64_t>(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(value[5].get<uint64_t>(), std::numeric_limits<uint64_t>::max());
}

TEST(ParseJson, ReadsNumbersBeyondADoubleAsPythonDoes) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(parse_json("[1e400, -1e400, 1e-400, Infinity]", "test"), Json({infinity, -infinity, 0.0, infinity}));
}

TEST(ParseJson, LastOfDuplicateKeysCountsAtTheFirstOnesPlace) {
  EXPECT_EQ(to_python_json(parse_json(R"({"a": 1, "b": 2, "a": 3})", "test"), {.indent = -1}), R"({"a": 3, "b": 2})");
}

TEST(ParseJson, RefusesDuplicateKeysWhenAsked) {
  EXPECT_THAT([] { parse_json("{\"a\": 1,\n \"a\": 3}", "x.json", DuplicateKeys::kRefuse); },
              ThrowsMessage<UsageError>("x.json: line 2, column 2: the key \"a\" stands twice"));
}

TEST(ParseJson, ReadsEscapesAndSurrogatePairs) {
  EXPECT_EQ(parse_json(R"("\"\\\/\b\f\n\r\tA\u00e9\u20ac\ud83d\ude00")", "test").get<std::string>(),
            "\"\\/\b\f\n\r\tAé€😀");
}

TEST(ParseJson, SkipsAByteOrderMark) {
  EXPECT_EQ(parse_json("\xEF\xBB\xBF 1 ", "test"), Json(1));
}

struct Malformed {
  std::string text;
  std::string message;
};

TEST(ParseJson, NamesSourceLineColumnAndProblem) {
  const std::vector<Malformed> table = {
      {"", "line 1, column 1: expected a value, found the end of the text"},
      {"{", "line 1, column 2: expected a key in double quotes, found the end of the text"},
      {"{\"a\": 1,}", "line 1, column 9: expected a key in double quotes, found `}`"},
      {"{\n  \"a\": 1\n  \"b\": 2\n}", "line 3, column 3: expected `,` or `}`, found `\"`"},
      {"[1,]", "line 1, column 4: expected a value, found `]`"},
      {"[1 2]", "line 1, column 4: expected `,` or `]`, found `2`"},
      {"{\"a\" 1}", "line 1, column 6: expected `:` after the key \"a\", found `1`"},
      {"{a: 1}", "line 1, column 2: expected a key in double quotes, found `a`"},
      {"[é]", "line 1, column 2: expected a value, found `é`"},
      {"\n \"abc", "line 2, column 2: the string that begins here has no end"},
      {"\"a\nb\"", "line 1, column 3: a control character inside a string must be escaped"},
      {"01", "line 1, column 2: unexpected text after the end of the JSON value"},
      {"1.", "line 1, column 3: expected a digit after the point, found the end of the text"},
      {"1e", "line 1, column 3: expected a digit in the exponent, found the end of the text"},
      {"-", "line 1, column 1: expected a value, found `-`"},
      {"+1", "line 1, column 1: expected a value, found `+`"},
      {"tru", "line 1, column 1: expected a value, found `t`"},
      {"nan", "line 1, column 1: expected a value, found `n`"},
      {"\"\\x\"", "line 1, column 3: unknown escape: a backslash before `x`"},
      {"\"\\u12\"", "line 1, column 4: \\u must be followed by four hexadecimal digits"},
      {"\"\\ud800\"", "a \\u escape is half of a surrogate pair"},
      {"\"\\udc00\"", "a \\u escape is half of a surrogate pair"},
      {"\"\\ud800\\u0041\"", "a \\u escape is half of a surrogate pair"},
      {"[1]]", "line 1, column 4: unexpected text after the end of the JSON value"},
      {"18446744073709551616", "line 1, column 1: the integer 18446744073709551616 does not fit in 64 bits"},
      {"\"\xff\"", "not valid UTF-8 text"},
      {std::string(100000, '['), "nested deeper than 512 levels"},
  };
  for (const Malformed& each : table) {
    EXPECT_THAT([&] { parse_json(each.text, "--policy.x"); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("--policy.x: "), HasSubstr(each.message))))
        << each.text.substr(0, 40);
  }
}

TEST(ParseJson, KeepsOrderAndFindsDuplicatesInLargeObjects) {
  std::string text = "{";
  for (int i = 0; i < 200; ++i) text += fmt::format("\"k{}\": {}, ", i, i);
  const Json json = parse_json(text + "\"k7\": -1, \"k150\": -2}", "test");
  ASSERT_EQ(json.size(), 200U);
  EXPECT_EQ(json["k7"], -1);
  EXPECT_EQ(json["k150"], -2);
  EXPECT_EQ(json.items().begin().key(), "k0");
  EXPECT_EQ(std::prev(json.end()).key(), "k199");
  EXPECT_THAT([&] { parse_json(text + "\"k150\": 0}", "test", DuplicateKeys::kRefuse); },
              ThrowsMessage<UsageError>(HasSubstr("the key \"k150\" stands twice")));
}

TEST(ReadJson, NamesTheFileThatIsMissingOrBroken) {
  const testing_support::TemporaryDirectory directory;
  const auto path = directory.path() / "info.json";
  EXPECT_THAT([&] { read_json(path); }, ThrowsMessage<UsageError>(path.string() + ": no such file"));
  EXPECT_THAT([&] { read_json(directory.path()); }, ThrowsMessage<UsageError>(HasSubstr("is a directory")));
  std::ofstream(path) << "{\"fps\": }";
  EXPECT_THAT([&] { read_json(path); }, ThrowsMessage<UsageError>(HasSubstr(path.string() + ": line 1, column 9")));
}

TEST(ReadJson, ReadsAWholeFile) {
  const testing_support::TemporaryDirectory directory;
  std::ofstream(directory.path() / "info.json") << "{\"fps\": 30}\n";
  EXPECT_EQ(read_json(directory.path() / "info.json"), Json({{"fps", 30}}));
}

}  // namespace
}  // namespace lerobot
