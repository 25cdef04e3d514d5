#include "lerobot/policy/run_unit.hpp"

#include <gtest/gtest.h>
#include <torch/utils.h>

#include <string>
#include <thread>
#include <vector>

#include "policy/golden_case.hpp"

namespace lerobot::policy {
namespace {

using Forward = std::function<torch::Tensor()>;

TEST(RunUnit, RunsTheForwardAloneWithoutAHook) {
  torch::nn::Module unit;
  EXPECT_EQ(run_unit(unit, [] { return torch::full({}, 3.0); }).item<double>(), 3.0);
}

TEST(RunUnit, HookSeesTheUnitAndReplacesTheResult) {
  torch::nn::Module unit;
  const UnitHookScope scope([&](torch::nn::Module& seen, const Forward& forward) {
    EXPECT_EQ(&seen, &unit);
    return forward() * 2;
  });
  EXPECT_EQ(run_unit(unit, [] { return torch::full({}, 3.0); }).item<double>(), 6.0);
}

TEST(RunUnit, InnerScopeReplacesTheOuterOneAndGivesItBack) {
  torch::nn::Module unit;
  std::string calls;
  const auto note = [&](char who) {
    return [&calls, who](torch::nn::Module&, const Forward& forward) {
      calls += who;
      return forward();
    };
  };
  const auto run = [&] { run_unit(unit, [] { return torch::Tensor(); }); };
  {
    const UnitHookScope outer(note('o'));
    run();
    {
      const UnitHookScope inner(note('i'));
      run();
    }
    run();
  }
  run();
  EXPECT_EQ(calls, "oio");
}

TEST(RunUnit, HookIsTheCallingThreadsOwn) {
  torch::nn::Module unit;
  int calls = 0;
  const UnitHookScope scope([&](torch::nn::Module&, const Forward& forward) {
    ++calls;
    return forward();
  });
  std::thread([&] { run_unit(unit, [] { return torch::Tensor(); }); }).join();
  EXPECT_EQ(calls, 0);
}

TEST(RunUnit, SurroundsEveryLayerAndTheBackboneOncePerCamera) {
  const GoldenCase golden("act_image2");
  const auto policy = golden.make_policy();
  policy->train();
  std::vector<std::string> units;
  const UnitHookScope scope([&](torch::nn::Module& unit, const Forward& forward) {
    units.push_back(dynamic_cast<ResNet*>(&unit)            ? "backbone"
                    : dynamic_cast<ACTEncoderLayer*>(&unit) ? "encoder"
                                                            : "decoder");
    return forward();
  });
  policy->training_forward(golden.batch("batch"));
  EXPECT_EQ(units, (std::vector<std::string>{"encoder", "backbone", "backbone", "encoder", "decoder"}));
}

}  // namespace
}  // namespace lerobot::policy
