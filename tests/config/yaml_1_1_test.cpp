// Values are those of PyYAML 6 (yaml.safe_load).
#include "yaml_1_1.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "lerobot/core/error.hpp"

namespace lerobot::config {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Json value(const std::string& text) {
  return parse_yaml(text, "test");
}

TEST(Yaml, ReadsIntegersOfEveryBase) {
  EXPECT_EQ(value("-0b101"), -5);
  EXPECT_EQ(value("010"), 8);
  EXPECT_EQ(value("+0x_fF"), 255);
  EXPECT_EQ(value("1_000"), 1000);
  EXPECT_EQ(value("12:30"), 750);
  EXPECT_EQ(value("-190:20:30"), -685230);
  EXPECT_EQ(value("-9223372036854775808"), std::numeric_limits<int64_t>::min());
}

TEST(Yaml, ReadsFloatsOnlyWhereAPointIs) {
  EXPECT_EQ(value("1.5e+3"), 1500.0);
  EXPECT_EQ(value("1_0."), 10.0);
  EXPECT_EQ(value("-.5e-1"), "-.5e-1");  // no sign before a bare point
  EXPECT_EQ(value(".5e-1"), 0.05);
  EXPECT_EQ(value("1:30.5"), 90.5);
  EXPECT_EQ(value("-.Inf"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(value(".nan").get<double>()));
}

TEST(Yaml, LeavesTextAloneThatOnlyLooksLikeANumber) {
  for (const char* text : {"1e-4", "09", "0b2", "0x", "12:60", "0:30", "+.nan", "1.5e3", "1.5e+", "--1", "_1"}) {
    EXPECT_EQ(value(text), text);
  }
}

TEST(Yaml, ReadsTextOfAnyLength) {
  EXPECT_EQ(value(std::string(200'000, 'a')).get<std::string>().size(), 200'000U);
  EXPECT_THAT([] { value(std::string(200'000, '1')); }, ThrowsMessage<UsageError>(HasSubstr("an integer of 64 bits")));
}

TEST(Yaml, RefusesAliasesThatMeanAnEndlessOrAHugeValue) {
  EXPECT_THAT([] { value("a: &a [*a]"); }, ThrowsMessage<UsageError>(HasSubstr("nested deeper than 512 levels")));
  EXPECT_THAT([] { value("a: &a {<<: *a}"); }, ThrowsMessage<UsageError>(HasSubstr("nested deeper than 512 levels")));
  std::string text = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
  for (char name = 'b'; name < 'i'; ++name) {
    text += std::string() + name + ": &" + name + " [";
    for (int i = 0; i < 10; ++i) text += std::string(i == 0 ? "*" : ",*") + static_cast<char>(name - 1);
    text += "]\n";
  }
  EXPECT_THAT([&] { value(text); }, ThrowsMessage<UsageError>(HasSubstr("more than 1000000 values")));
}

TEST(Yaml, RefusesMoreThanOneDocumentAndTextAtWhichTheParserStandsStill) {
  EXPECT_THAT([] { value("a: 1\n---\nb: 2\n"); }, ThrowsMessage<UsageError>(HasSubstr("one YAML document expected")));
  EXPECT_THROW(value(",*b]\nd: &d [*c]\nh: &h [*~ a1\n:%2"), UsageError);
}

TEST(Yaml, RefusesTextThatIsNotUtf8) {
  EXPECT_THAT([] { value("a: \xff"); }, ThrowsMessage<UsageError>(HasSubstr("not valid UTF-8")));
}

}  // namespace
}  // namespace lerobot::config
