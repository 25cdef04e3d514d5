#include "lerobot/processor/normalizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "lerobot/core/error.hpp"
#include "processor/sample.hpp"
#include "support/torch.hpp"

namespace lerobot::processor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Normalizer make(NormalizationMode mode, const FeatureStats& stats = sample::stats()) {
  return Normalizer({.features = sample::features(), .norm_map = sample::norm_map(mode)}, stats);
}

std::string error_of(NormalizationMode mode, const FeatureStats& stats) {
  try {
    make(mode, stats);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "(no error)";
}

struct ModeCase {
  NormalizationMode mode;
  std::string file;
};

class NormalizerModes : public ::testing::TestWithParam<ModeCase> {};

TEST_P(NormalizerModes, EqualsLeRobotBothWays) {
  Normalizer normalizer = make(GetParam().mode);
  const TensorMap golden = load_safetensors(sample::kFolder / (GetParam().file + ".safetensors"));
  for (const auto& [key, input] : sample::batch()) {
    EXPECT_TRUE(torch::allclose(normalizer.normalize(key, input), golden.at("normalized." + key), 1e-6, 1e-6)) << key;
    EXPECT_TRUE(torch::allclose(normalizer.unnormalize(key, input), golden.at("unnormalized." + key), 1e-6, 1e-6))
        << key;
  }
}

TEST_P(NormalizerModes, UnnormalizeUndoesNormalize) {
  Normalizer normalizer = make(GetParam().mode);
  const torch::Tensor action = sample::batch().at("action");
  EXPECT_TRUE(
      torch::allclose(normalizer.unnormalize("action", normalizer.normalize("action", action)), action, 1e-5, 1e-5));
}

INSTANTIATE_TEST_SUITE_P(All, NormalizerModes,
                         ::testing::Values(ModeCase{NormalizationMode::kMeanStd, "mean_std"},
                                           ModeCase{NormalizationMode::kMinMax, "min_max"},
                                           ModeCase{NormalizationMode::kQuantiles, "quantiles"},
                                           ModeCase{NormalizationMode::kQuantile10, "quantile10"}),
                         [](const auto& info) { return info.param.file; });

TEST(Normalizer, LeavesIdentityModesUnmappedTypesAndUnknownKeysAsTheyAre) {
  Normalizer identity = make(NormalizationMode::kIdentity);
  Normalizer mean_std = make(NormalizationMode::kMeanStd);  // ENV is not in the map
  const torch::Tensor x = torch::randn({4, 3});
  EXPECT_TRUE(identity.normalize("observation.state", x).is_same(x));
  EXPECT_TRUE(mean_std.normalize("observation.environment_state", x).is_same(x));
  EXPECT_TRUE(mean_std.normalize("timestamp", x).is_same(x));
}

TEST(Normalizer, MapsAJointThatNeverMovesToMinusOne) {
  Normalizer normalizer = make(NormalizationMode::kMinMax);
  const torch::Tensor still = sample::stats()["observation.state"]["min"];
  EXPECT_EQ(normalizer.normalize("observation.state", still)[2].item<float>(), -1.0F);
}

TEST(Normalizer, TreatsTheActionByItsOwnTypeEvenWhenItIsNoFeature) {
  Normalizer normalizer({.features = sample::inputs(), .norm_map = {{"ACTION", NormalizationMode::kMeanStd}}},
                        sample::stats());
  const auto stats = sample::stats()["action"];
  EXPECT_TRUE(torch::allclose(normalizer.normalize("action", stats.at("mean") + stats.at("std")), torch::ones({2})));
}

TEST(Normalizer, KeepsFloat64AndHalfPrecisionAndMakesIntegersFloat) {
  Normalizer normalizer = make(NormalizationMode::kMeanStd);
  const torch::Tensor x = torch::randn({4, 2});
  const torch::Tensor y = normalizer.normalize("action", x);
  for (const auto dtype : {torch::kFloat64, torch::kFloat16, torch::kBFloat16}) {
    const torch::Tensor same = normalizer.normalize("action", x.to(dtype));
    EXPECT_EQ(same.scalar_type(), dtype);
    EXPECT_TRUE(torch::allclose(same.to(torch::kFloat32), y, 0.02, 0.05));
  }
  EXPECT_EQ(normalizer.normalize("action", torch::ones({4, 2}, torch::kInt64)).scalar_type(), torch::kFloat32);
}

TEST(Normalizer, WorksInPlaceOnlyOnATensorThatWasHandedOver) {
  Normalizer normalizer = make(NormalizationMode::kMeanStd);
  torch::Tensor mine = torch::ones({4, 2});
  normalizer.normalize("action", mine);
  EXPECT_TRUE(mine.equal(torch::ones({4, 2})));

  torch::Tensor given = torch::ones({4, 2});
  const void* memory = given.data_ptr();
  EXPECT_EQ(normalizer.normalize("action", std::move(given)).data_ptr(), memory);

  torch::Tensor base = torch::ones({4, 2});
  normalizer.normalize("action", base.view({2, 2, 2}));  // a view handed over still shares its memory
  EXPECT_TRUE(base.equal(torch::ones({4, 2})));
}

TEST(Normalizer, AcceptsFlatCameraStatsAndSingleNumbersOfAnyRank) {
  FeatureStats stats = sample::stats();
  const torch::Tensor expected =
      make(NormalizationMode::kMeanStd)
          .normalize("observation.images.front", sample::batch().at("observation.images.front"));
  auto& camera = stats["observation.images.front"];
  camera["mean"] = camera["mean"].reshape({3});
  camera["std"] = camera["std"].reshape({3});
  Normalizer flat = make(NormalizationMode::kMeanStd, stats);
  EXPECT_TRUE(
      flat.normalize("observation.images.front", sample::batch().at("observation.images.front")).equal(expected));
  EXPECT_EQ(flat.stats().at("observation.images.front").at("mean").sizes(), torch::IntArrayRef({3, 1, 1}));

  for (const auto& sizes : {std::vector<int64_t>{}, {1}, {1, 1, 1}}) {
    stats["action"]["mean"] = torch::full(sizes, 2.0);
    EXPECT_EQ(make(NormalizationMode::kMeanStd, stats).unnormalize("action", torch::zeros({2})).sum().item<float>(), 4);
  }
}

TEST(Normalizer, NamesTheFeatureAndTheMissingStatisticAndTheWayOut) {
  FeatureStats stats = sample::stats();
  stats["action"].erase("std");
  EXPECT_THAT(error_of(NormalizationMode::kMeanStd, stats),
              AllOf(HasSubstr("`action`"), HasSubstr("MEAN_STD"), HasSubstr("no std"),
                    HasSubstr("--policy.normalization_mapping"), HasSubstr("meta/stats.json")));
  stats = sample::stats();
  stats["observation.state"].erase("q01");
  EXPECT_EQ(error_of(NormalizationMode::kMinMax, stats), "(no error)");
  EXPECT_THAT(
      error_of(NormalizationMode::kQuantiles, stats),
      AllOf(HasSubstr("`observation.state`"), HasSubstr("no q01"), HasSubstr("augment_dataset_quantile_stats.py")));
}

TEST(Normalizer, RefusesStatisticsThatAreNotFinite) {
  FeatureStats stats = sample::stats();
  stats["action"]["std"] = stats["action"]["std"].clone();
  stats["action"]["std"][1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(error_of(NormalizationMode::kMeanStd, stats), HasSubstr("statistic std of feature `action` holds NaN"));
  EXPECT_EQ(error_of(NormalizationMode::kMinMax, stats), "(no error)");
}

TEST(Normalizer, RefusesStatisticsOfAnotherSize) {
  FeatureStats stats = sample::stats();
  stats["observation.state"]["mean"] = torch::zeros({7});
  EXPECT_THAT(error_of(NormalizationMode::kMeanStd, stats),
              AllOf(HasSubstr("`observation.state`"), HasSubstr("[7]"), HasSubstr("[6]")));
}

TEST(Normalizer, WarnsOfAFeatureWithoutStatisticsAndLeavesItAsItIs) {
  FeatureStats stats = sample::stats();
  stats.erase("observation.state");
  ::testing::internal::CaptureStderr();
  Normalizer normalizer = make(NormalizationMode::kMeanStd, stats);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), AllOf(HasSubstr("WARNING"), HasSubstr("`observation.state`")));
  const torch::Tensor x = torch::randn({4, 6});
  EXPECT_TRUE(normalizer.normalize("observation.state", x).is_same(x));
}

TEST(Normalizer, NormalisesOnlyTheChosenObservations) {
  NormalizerConfig config{.features = sample::features(), .norm_map = sample::norm_map(NormalizationMode::kMeanStd)};
  config.normalize_observation_keys = {"observation.state"};
  Normalizer normalizer(config, sample::stats());
  const torch::Tensor image = sample::batch().at("observation.images.front");
  EXPECT_TRUE(normalizer.normalize("observation.images.front", image).is_same(image));
  const torch::Tensor state = sample::batch().at("observation.state");
  EXPECT_FALSE(normalizer.normalize("observation.state", state).equal(state));
}

}  // namespace
}  // namespace lerobot::processor
