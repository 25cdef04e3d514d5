#include "lerobot/core/text.hpp"

#include <gtest/gtest.h>

namespace lerobot {
namespace {

const std::vector<std::string> kFlags = {"steps", "batch_size", "save_freq", "eval_freq", "optimizer.lr"};

TEST(Join, PutsTheSeparatorBetween) {
  EXPECT_EQ(join(std::vector<std::string>{"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(ClosestMatch, FindsTheLikelySlip) {
  EXPECT_EQ(closest_match("step", kFlags), "steps");
  EXPECT_EQ(closest_match("batchsize", kFlags), "batch_size");
  EXPECT_EQ(closest_match("setps", kFlags), "steps");  // two neighbours swapped are one edit
  EXPECT_EQ(closest_match("save_frq", kFlags), "save_freq");
}

TEST(ClosestMatch, FindsNothingBeyondAThirdOfTheWord) {
  EXPECT_EQ(closest_match("stxxx", kFlags), "");
  EXPECT_EQ(closest_match("", kFlags), "");
  EXPECT_EQ(closest_match("seed", {}), "");
}

TEST(DidYouMean, AsksOnlyWhenThereIsAMatch) {
  EXPECT_EQ(did_you_mean("step", kFlags), " Did you mean `steps`?");
  EXPECT_EQ(did_you_mean("chunk", kFlags), "");
}

TEST(FormatBigNumber, EqualsLeRobots) {
  EXPECT_EQ(format_big_number(0), "0");
  EXPECT_EQ(format_big_number(36), "36");
  EXPECT_EQ(format_big_number(999), "999");
  EXPECT_EQ(format_big_number(1500), "2K");
  EXPECT_EQ(format_big_number(2500), "2K");  // halves go to the even digit
  EXPECT_EQ(format_big_number(31538), "32K");
  EXPECT_EQ(format_big_number(999999), "1000K");
  EXPECT_EQ(format_big_number(51.6e6), "52M");
  EXPECT_EQ(format_big_number(-7e9), "-7B");
  EXPECT_EQ(format_big_number(1e15), "1Q");
  EXPECT_EQ(format_big_number(2e18), "2.0");
}

TEST(IsValidUtf8, AcceptsWellFormedText) {
  for (const std::string_view text : {"", "plain", "é", "€", "😀", "\u07ff\u0800\ue000", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(is_valid_utf8(text)) << text;
  }
}

TEST(IsValidUtf8, RefusesOverlongSurrogateCutAndStrayBytes) {
  for (const std::string_view text :
       {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xC3", "\xE2\x82", "\xF0\x9F\x98", "\xC3(", "\xE2(\xAC", "a\xFF"}) {
    EXPECT_FALSE(is_valid_utf8(text));
  }
}

}  // namespace
}  // namespace lerobot
