#include "lerobot/dataset/delta_timestamps.hpp"

#include <gmock/gmock.h>

#include "dataset/toy_dataset.hpp"
#include "lerobot/config/optimizer_config.hpp"
#include "lerobot/core/error.hpp"

namespace lerobot::dataset {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Indices = std::vector<int64_t>;

struct WindowPolicy : PolicyConfig {
  std::optional<Indices> observation, action;

  std::string type() const override { return "window"; }
  std::unique_ptr<PolicyConfig> clone() const override { return std::make_unique<WindowPolicy>(*this); }
  const NormalizationMap& normalization() const override { return no_normalization; }
  std::optional<Indices> observation_delta_indices() const override { return observation; }
  std::optional<Indices> action_delta_indices() const override { return action; }
  std::unique_ptr<OptimizerConfig> optimizer_preset() const override { return nullptr; }
  std::unique_ptr<SchedulerConfig> scheduler_preset() const override { return nullptr; }
  void validate_features(config::Problems&) const override {}

  NormalizationMap no_normalization;
};

DatasetInfo toy_info() {
  const testing_support::ToyDataset toy;
  toy.write();
  return load_dataset_info(toy.root(), "toy/set");
}

TEST(DeltaIndices, AreTheFramesNearestToTheSeconds) {
  EXPECT_THAT(delta_indices_from_seconds("action", std::vector{-0.1, 0.0, 1.0 / 30, 3.0}, 30, 1e-4),
              ElementsAre(-3, 0, 1, 90));
  // Half way between two frames: to the even one, as Python's round().
  EXPECT_THAT(delta_indices_from_seconds("action", std::vector{0.5, 1.5, 2.5}, 1, 0.5), ElementsAre(0, 2, 2));
}

TEST(DeltaIndices, FartherThanTheToleranceFromAFrameAreRefused) {
  EXPECT_THAT(
      [] {
        delta_indices_from_seconds("action", std::vector{0.1, 0.12}, 10, 1e-4);
      },
      ThrowsMessage<UsageError>(AllOf(HasSubstr("`action`"), HasSubstr("0.12"), HasSubstr("--tolerance_s"))));
}

TEST(DeltaIndices, ComeFromThePolicyByTheKindOfKey) {
  WindowPolicy policy;
  policy.observation = {-1, 0};
  policy.action = {-1, 0, 1, 2};
  const DeltaIndices deltas = resolve_delta_indices(toy_info(), policy);
  EXPECT_EQ(deltas, (DeltaIndices{{"observation.state", {-1, 0}}, {"action", {-1, 0, 1, 2}}}));
}

TEST(DeltaIndices, AreAbsentWhereThePolicyHasNone) {
  WindowPolicy policy;
  policy.action = {0, 1};
  EXPECT_EQ(resolve_delta_indices(toy_info(), policy), (DeltaIndices{{"action", {0, 1}}}));
}

TEST(DeltaIndices, LookAtKeysUnderTheirNewNames) {
  WindowPolicy policy;
  policy.observation = {0};
  policy.action = {0, 1};
  const DeltaIndices deltas = resolve_delta_indices(
      toy_info(), policy, 1e-4, OrderedMap<std::string>{{"action", "teleop"}, {"timestamp", "observation.time"}});
  EXPECT_EQ(deltas, (DeltaIndices{{"observation.state", {0}}, {"timestamp", {0}}}));
}

}  // namespace
}  // namespace lerobot::dataset
