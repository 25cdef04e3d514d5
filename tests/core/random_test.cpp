// Expected numbers come from CPython 3.12's random, numpy 2 and torch 2.11.
#include "lerobot/core/random.hpp"
#include "support/torch.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace lerobot {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

uint64_t seed_sequence(std::vector<uint64_t> entropy) {
  return seed_sequence_state(entropy);
}

TEST(SeedSequenceState, EqualsNumpys) {
  EXPECT_EQ(seed_sequence({1000, 0}), 18002537191484623697U);
  EXPECT_EQ(seed_sequence({1000, 1}), 4723298920957447659U);
  EXPECT_EQ(seed_sequence({7, 0}), 16920295385781661272U);
  EXPECT_EQ(seed_sequence({0, 0}), 15793235383387715774U);
  EXPECT_EQ(seed_sequence({42, 7}), 10473664704035447458U);
}

TEST(SeedSequenceState, SplitsLargeIntegersLowWordFirst) {
  EXPECT_EQ(seed_sequence({(1ULL << 40) + 3, 1ULL << 33}), 1382951562312953565U);
}

TEST(SeedSequenceState, MixesEntropyBeyondThePool) {
  EXPECT_EQ(seed_sequence({1, 2, 3, 4, 5, 6}), 16991237094181161505U);
  EXPECT_EQ(seed_sequence({UINT64_MAX, 1ULL << 63, 5}), 16202718031532901645U);
}

std::vector<uint32_t> three_words(Mt19937 generator) {
  return {generator.next(), generator.next(), generator.next()};
}

struct SeededState {
  uint64_t seed;
  uint32_t second_word;
  uint32_t last_word;
  std::vector<uint32_t> first_outputs;
};

TEST(Mt19937, FromPythonSeedEqualsRandomSeed) {
  const std::vector<SeededState> table = {
      {0, 766982754, 2902720905, {3626764237, 1654615998, 3255389356}},
      {1, 163610392, 1781494222, {577090037, 2444712010, 3639700191}},
      {1000, 3322676526, 2311025532, {3338721356, 1842444242, 2876878853}},
      {1ULL << 32, 3247729875, 2855728268, {485306839, 1508871100, 1794561286}},
      {(1ULL << 40) + 5, 550267540, 2187275131, {2166296868, 2220160828, 1153647273}},
      {(1ULL << 63) + 12345, 56064138, 222224192, {1308997459, 1668775168, 912389232}},
  };
  for (const SeededState& each : table) {
    const Mt19937 generator = Mt19937::from_python_seed(each.seed);
    EXPECT_EQ(generator.state[0], 0x80000000U);
    EXPECT_EQ(generator.state[1], each.second_word) << each.seed;
    EXPECT_EQ(generator.state[623], each.last_word) << each.seed;
    EXPECT_EQ(generator.index, 624);
    EXPECT_THAT(three_words(generator), ElementsAreArray(each.first_outputs)) << each.seed;
  }
}

TEST(Mt19937, EqualsNumpysLegacySeed) {
  const std::vector<SeededState> table = {
      {0, 1, 1796872496, {2357136044, 2546248239, 3071714933}},
      {1, 1812433254, 2069268389, {1791095845, 4282876139, 3093770124}},
      {1000, 4252021385, 4259078808, {2807145907, 882709079, 493951047}},
      {UINT32_MAX, 1340201581, 3413567280, {419326371, 479346978, 3918654476}},
  };
  for (const SeededState& each : table) {
    const Mt19937 generator(static_cast<uint32_t>(each.seed));
    EXPECT_EQ(generator.state[0], each.seed);
    EXPECT_EQ(generator.state[1], each.second_word) << each.seed;
    EXPECT_EQ(generator.state[623], each.last_word) << each.seed;
    EXPECT_THAT(three_words(generator), ElementsAreArray(each.first_outputs)) << each.seed;
  }
}

TEST(TorchRandperm, EqualsPythonTorch) {
  EXPECT_THAT(torch_randperm(8, 7), ElementsAre(7, 0, 3, 4, 1, 5, 2, 6));
  auto epoch = torch_randperm(87, seed_sequence({1000, 0}));
  epoch.resize(6);
  EXPECT_THAT(epoch, ElementsAre(15, 23, 56, 65, 83, 0));
}

TEST(TorchRandperm, EqualsTheInstalledLibTorchAcrossRegenerations) {
  for (const int64_t n : {0, 1, 2, 5000}) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(uint64_t{4723298920957447659});
    const torch::Tensor expected = torch::randperm(n, generator, torch::kInt64);
    const auto actual = torch_randperm(n, 4723298920957447659);
    EXPECT_TRUE(std::equal(actual.begin(), actual.end(), expected.data_ptr<int64_t>(),
                           expected.data_ptr<int64_t>() + expected.numel()))
        << n;
  }
}

// The order above 2^32 / 20. At full size (1.7 GB) it was compared with torch by hand: n = 214748400, seed 1234.
TEST(TorchRandperm, DrawsSixtyFourBitsForLargeNumbers) {
  Mt19937 generator(7);
  std::vector<int64_t> expected;
  for (uint64_t i = 0; i < 1000; ++i) {
    const uint64_t high = generator.next();
    const uint64_t drawn = high << 32 | generator.next();
    expected.push_back(static_cast<int64_t>(i));
    std::swap(expected[drawn % (i + 1)], expected.back());
  }
  EXPECT_EQ(torch_randperm(1000, 7, 0), expected);
  EXPECT_NE(torch_randperm(1000, 7), expected);
}

TEST(TorchRandperm, CountsOnlyTheLowHalfOfTheSeed) {
  EXPECT_EQ(torch_randperm(8, (1ULL << 32) + 7), torch_randperm(8, 7));
}

}  // namespace
}  // namespace lerobot
