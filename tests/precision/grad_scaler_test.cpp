#include "lerobot/precision/grad_scaler.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "lerobot/core/error.hpp"
#include "support/torch.hpp"

namespace lerobot::precision {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const char* const kExactText = R"({
    "scale": 65536.0,
    "growth_factor": 2.0,
    "backoff_factor": 0.5,
    "growth_interval": 2000,
    "_growth_tracker": 0
})";

// One update with a gradient of the given value; true when it must be skipped.
bool update_with(GradScaler& scaler, float gradient) {
  scaler.scale(torch::ones({}));
  const bool skip = scaler.unscale_({torch::full({2}, gradient)}).item<float>() == 1.0f;
  scaler.update();
  return skip;
}

TEST(GradScaler, FollowsTorchThroughOverflows) {
  const Json cases = read_json(LEROBOT_TEST_DATA "/scaler/scaler_traces.json");
  ASSERT_EQ(cases.size(), 6u);
  for (const Json& golden : cases) {
    const std::string pattern = golden["pattern"];
    SCOPED_TRACE(pattern);
    GradScaler scaler({.init_scale = golden["init_scale"],
                       .growth_factor = golden["growth_factor"],
                       .backoff_factor = golden["backoff_factor"],
                       .growth_interval = golden["growth_interval"]});
    for (size_t i = 0; i < pattern.size(); ++i) {
      const bool skipped = update_with(scaler, pattern[i] == '.' ? 1.0f : pattern[i] == 'i' ? kInf : kNan);
      EXPECT_EQ(Json({scaler.get_scale(), scaler.growth_tracker(), skipped}), golden["after"][i]) << "update " << i;
    }
    EXPECT_EQ(scaler.state_dict(), golden["state"]);
  }
}

TEST(GradScaler, ScalesTheLossAndDividesTheGradients) {
  GradScaler scaler({.init_scale = 1024.0});
  auto weight = torch::tensor({3.0f}).requires_grad_();
  scaler.scale((weight * 2).sum()).backward();
  EXPECT_EQ(weight.grad().item<float>(), 2048.0f);
  EXPECT_EQ(scaler.unscale_({weight.grad()}).item<float>(), 0.0f);
  EXPECT_EQ(weight.grad().item<float>(), 2.0f);
}

TEST(GradScaler, ChecksWithoutDividing) {
  GradScaler scaler({.init_scale = 1024.0});
  scaler.scale(torch::ones({}));
  const auto gradient = torch::full({2}, 2048.0f);
  EXPECT_EQ(scaler.check({gradient}).item<float>(), 0.0f);
  EXPECT_EQ(gradient[0].item<float>(), 2048.0f);
  scaler.update();
  EXPECT_EQ(scaler.check({gradient, torch::tensor({1.0f, -kInf})}).item<float>(), 1.0f);
}

TEST(GradScaler, FindsOneBadElementAmongManyGradientsOfAnyDtype) {
  GradScaler scaler;
  scaler.scale(torch::ones({}));
  auto bad = torch::zeros({100}, torch::kFloat64);
  bad[99] = kNan;
  EXPECT_EQ(scaler.unscale_({torch::ones({3}), torch::Tensor(), torch::ones({2}, torch::kBFloat16), bad}).item<float>(),
            1.0f);
}

TEST(GradScaler, TakesTheAnswerThatAllRanksAgreedOn) {
  GradScaler scaler({.init_scale = 8.0}, [](torch::Tensor& found_inf) { found_inf.fill_(1.0f); });
  EXPECT_TRUE(update_with(scaler, 1.0f));
  EXPECT_EQ(scaler.get_scale(), 4.0);
}

TEST(GradScaler, RefusesWhatTorchRefuses) {
  GradScaler scaler;
  EXPECT_THROW(scaler.unscale_({torch::ones({1})}), RunError);  // before scale()
  scaler.scale(torch::ones({}));
  EXPECT_THROW(scaler.update(), RunError);  // before unscale_()
  EXPECT_THAT([&] { scaler.unscale_({torch::ones({1}, torch::kHalf)}); },
              ThrowsMessage<RunError>(HasSubstr("float16")));
  EXPECT_THAT([&] { scaler.unscale_({torch::Tensor()}); }, ThrowsMessage<RunError>(HasSubstr("no parameter")));
  scaler.unscale_({torch::ones({1})});
  EXPECT_THROW(scaler.unscale_({torch::ones({1})}), RunError);  // twice
  EXPECT_THROW(scaler.check({torch::ones({1})}), RunError);
  scaler.update();
  EXPECT_NO_THROW(scaler.unscale_({torch::ones({1})}));
}

TEST(GradScaler, RefusesOptionsOutsideTheirRange) {
  const auto message = [](GradScalerOptions options) -> std::string {
    try {
      GradScaler scaler(options);
      return "";
    } catch (const UsageError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(message({}), "");
  for (const double value : {0.0, -1.0, static_cast<double>(kInf), static_cast<double>(kNan), 1e39})
    EXPECT_THAT(message({.init_scale = value}), HasSubstr("--accelerator.grad_scaler.init_scale")) << value;
  for (const double value : {1.0, static_cast<double>(kNan)})
    EXPECT_THAT(message({.growth_factor = value}), HasSubstr("--accelerator.grad_scaler.growth_factor")) << value;
  for (const double value : {0.0, 1.0, static_cast<double>(kNan)})
    EXPECT_THAT(message({.backoff_factor = value}), HasSubstr("--accelerator.grad_scaler.backoff_factor")) << value;
  EXPECT_THAT(message({.growth_interval = 0}), HasSubstr("--accelerator.grad_scaler.growth_interval"));
}

TEST(GradScaler, StopsLoudlyWhenTheScaleHasCollapsed) {
  GradScaler scaler({.init_scale = 1e-28, .backoff_factor = 0.001});
  EXPECT_NO_THROW(scaler.require_usable_scale());
  update_with(scaler, kInf);
  EXPECT_THAT([&] { scaler.require_usable_scale(); }, ThrowsMessage<RunError>(HasSubstr("bf16")));
}

TEST(GradScalerState, IsLeRobotsTextExactly) {
  GradScaler scaler;
  EXPECT_EQ(to_python_json(scaler.state_dict()), kExactText);
  scaler.scale(torch::ones({}));
  EXPECT_EQ(to_python_json(scaler.state_dict()), kExactText);
}

TEST(GradScalerState, ContinuesTheTrajectoryOfTheRunThatWroteIt) {
  const GradScalerOptions options{
      .init_scale = 64.0, .growth_factor = 4.0, .backoff_factor = 0.25, .growth_interval = 3};
  GradScaler whole(options);
  update_with(whole, kInf);
  update_with(whole, 1.0f);
  GradScaler resumed;  // other options: the state's count
  resumed.load_state_dict(parse_json(to_python_json(whole.state_dict()), "state"), "state");
  EXPECT_EQ(resumed.state_dict(), whole.state_dict());
  for (const float gradient : {1.0f, 1.0f, 1.0f, kNan, 1.0f}) {
    update_with(whole, gradient);
    update_with(resumed, gradient);
    EXPECT_EQ(resumed.state_dict(), whole.state_dict());
  }
}

TEST(GradScalerState, LoadsIntoAScalerThatIsInUse) {
  GradScaler scaler({.init_scale = 2.0});
  update_with(scaler, 1.0f);
  scaler.load_state_dict(parse_json(kExactText, "state"), "state");
  EXPECT_EQ(scaler.get_scale(), 65536.0);
  EXPECT_EQ(scaler.growth_tracker(), 0);
}

TEST(GradScalerState, RefusesAFileThatLeRobotRefuses) {
  const auto refused = [](const std::string& key, const Json& value) {
    Json state = parse_json(kExactText, "");
    state[key] = value;
    GradScaler scaler;
    EXPECT_THAT([&] { scaler.load_state_dict(state, "scaler_state.json"); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("scaler_state.json"), HasSubstr(key))))
        << key << " " << value;
    EXPECT_EQ(to_python_json(scaler.state_dict()), kExactText);
  };
  refused("scale", 512);
  refused("scale", 0.0);
  refused("scale", "1.0");
  refused("growth_factor", nullptr);
  refused("backoff_factor", 2.0);
  refused("growth_interval", 7.0);
  refused("growth_interval", true);
  refused("_growth_tracker", -1);
  refused("enabled", true);
  for (const char* key : {"scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"}) {
    Json state = parse_json(kExactText, "");
    state.erase(key);
    GradScaler scaler;
    EXPECT_THAT([&] { scaler.load_state_dict(state, "f"); }, ThrowsMessage<UsageError>(HasSubstr(key)));
  }
  GradScaler scaler;
  EXPECT_THROW(scaler.load_state_dict(Json::array(), "f"), UsageError);
}

}  // namespace
}  // namespace lerobot::precision
