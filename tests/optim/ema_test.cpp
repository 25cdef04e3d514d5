// The golden files come from diffusers 0.39's EMAModel under PyTorch 2.11: trajectory.json has 20 updates of three
// cases in float32, ema_state.pt is what torch.save wrote of the second one at its end, ema_state_cuda_half.pt is such
// a file with narrower shadows on "cuda:0".
#include "lerobot/optim/ema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lerobot/core/error.hpp"
#include "lerobot/core/json.hpp"
#include "lerobot/core/torch_pickle.hpp"
#include "support/temporary_directory.hpp"
#include "support/torch.hpp"

namespace lerobot::optim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::filesystem::path kData = std::filesystem::path(LEROBOT_TEST_DATA) / "ema";

torch::Tensor flag(float value) {
  return torch::full({}, value);
}

// Weights that move as the golden ones did, and their average.
class Trajectory {
 public:
  explicit Trajectory(const std::string& name) : golden_(read_json(kData / "trajectory.json")) {
    for (size_t i = 0; i < golden_["shapes"].size(); ++i) {
      parameters_.push_back(torch::zeros(golden_["shapes"][i].get<std::vector<int64_t>>()));
      parameters_.back().set_requires_grad(golden_["requires_grad"][i].get<bool>());
    }
    move(0);
    const Json& settings = golden_["cases"][name];
    if (settings["decay"] == settings["min_decay"]) {
      config_.decay = settings["decay"].get<double>();
    } else {
      config_.max_decay = settings["decay"].get<double>();
      config_.min_decay = settings["min_decay"].get<double>();
    }
    config_.update_after_step = settings["update_after_step"].get<int64_t>();
    config_.inv_gamma = settings["inv_gamma"].get<double>();
    config_.power = settings["power"].get<double>();
    shadows_ = settings["shadows"];
  }

  ExponentialMovingAverage average() const { return {config_, parameters_}; }

  int64_t updates() const { return static_cast<int64_t>(shadows_.size()); }
  void move(int64_t step) { set(parameters_, golden_["parameters"][static_cast<size_t>(step)]); }

  std::vector<torch::Tensor> golden_shadows(int64_t step) const {
    std::vector<torch::Tensor> shadows;
    for (const torch::Tensor& parameter : parameters_) shadows.push_back(torch::zeros_like(parameter));
    set(shadows, shadows_[static_cast<size_t>(step) - 1]);
    return shadows;
  }

 private:
  static void set(const std::vector<torch::Tensor>& tensors, const Json& flat) {
    const torch::NoGradGuard no_grad;
    const torch::Tensor values = torch::tensor(flat.get<std::vector<float>>());
    int64_t start = 0;
    for (const torch::Tensor& tensor : tensors) {
      tensor.copy_(values.narrow(0, start, tensor.numel()).view(tensor.sizes()));
      start += tensor.numel();
    }
  }

  Json golden_;
  Json shadows_;
  EmaConfig config_;
  std::vector<torch::Tensor> parameters_;
};

void expect_equal(const std::vector<torch::Tensor>& actual, const std::vector<torch::Tensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_TRUE(torch::equal(actual[i], expected[i])) << i;
}

std::vector<torch::Tensor> clones(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> copies;
  for (const torch::Tensor& tensor : tensors) copies.push_back(tensor.clone());
  return copies;
}

class EmaGolden : public testing::TestWithParam<std::string> {};

TEST_P(EmaGolden, EqualsDiffusersBitForBit) {
  Trajectory trajectory(GetParam());
  ExponentialMovingAverage average = trajectory.average();
  for (int64_t step = 1; step <= trajectory.updates(); ++step) {
    SCOPED_TRACE(step);
    trajectory.move(step);
    average.update(flag(0));
    expect_equal(average.shadow_params(), trajectory.golden_shadows(step));
  }
  EXPECT_EQ(average.state().optimization_step, trajectory.updates());
}

TEST_P(EmaGolden, LeavesShadowsAndCountAloneWhereFoundInfIsOne) {
  Trajectory trajectory(GetParam());
  ExponentialMovingAverage average = trajectory.average();
  for (int64_t step = 1; step <= trajectory.updates(); ++step) {
    SCOPED_TRACE(step);
    // The optimizer skipped: the weights are where they were.
    const auto before = clones(average.shadow_params());
    for (int64_t skipped = 0; skipped < step % 3; ++skipped) average.update(flag(1));
    expect_equal(average.shadow_params(), before);
    EXPECT_EQ(average.state().optimization_step, step - 1);
    trajectory.move(step);
    average.update(flag(0).view({1}));
    expect_equal(average.shadow_params(), trajectory.golden_shadows(step));
  }
}

TEST_P(EmaGolden, GoesOnExactlyFromALoadedState) {
  Trajectory trajectory(GetParam());
  ExponentialMovingAverage first = trajectory.average();
  for (int64_t step = 1; step <= 7; ++step) {
    trajectory.move(step);
    first.update(flag(0));
  }
  const testing_support::TemporaryDirectory directory;
  write_ema_state(local_file_system(), directory.path() / "ema_state.pt", first.state());

  ExponentialMovingAverage second = trajectory.average();
  second.load_state(read_ema_state(directory.path() / "ema_state.pt"), "ema_state.pt");
  EXPECT_EQ(second.state().optimization_step, 7);
  for (int64_t step = 8; step <= trajectory.updates(); ++step) {
    trajectory.move(step);
    second.update(flag(0));
  }
  expect_equal(second.shadow_params(), trajectory.golden_shadows(trajectory.updates()));
}

INSTANTIATE_TEST_SUITE_P(Cases, EmaGolden, testing::Values("schedule", "clamped_schedule", "constant"));

// Past the first stretch of the schedule that is made ahead, with updates in it that do not count.
TEST(Ema, FollowsTheScheduleThroughThousandsOfUpdates) {
  const torch::Tensor parameter = torch::zeros({1}).set_requires_grad(true);
  ExponentialMovingAverage average({}, {parameter});
  float shadow = 0;
  int64_t counted = 0;
  for (int64_t attempt = 1; attempt <= 9000; ++attempt) {
    const bool is_skipped = attempt % 100 == 0;
    const auto weight = static_cast<float>(attempt % 7);
    if (!is_skipped) {
      const torch::NoGradGuard no_grad;
      parameter.fill_(weight);
      const double decay = 1 - std::pow(1 + static_cast<double>(counted), -0.75);
      shadow -= static_cast<float>(1 - decay) * (shadow - weight);
      ++counted;
    }
    average.update(flag(is_skipped ? 1 : 0));
  }
  EXPECT_EQ(average.state().optimization_step, counted);
  EXPECT_EQ(average.shadow_params()[0].item<float>(), shadow);
}

// More elements than are taken at a time.
TEST(Ema, AveragesParametersOfAnySize) {
  const std::vector<torch::Tensor> parameters{torch::zeros({5000, 1000}).set_requires_grad(true),
                                              torch::zeros({5000, 1000}).set_requires_grad(true),
                                              torch::zeros({3}).set_requires_grad(true)};
  EmaConfig config;
  config.decay = 0.5;
  ExponentialMovingAverage average(config, parameters);
  average.update(flag(0));
  {
    const torch::NoGradGuard no_grad;
    for (const torch::Tensor& parameter : parameters) parameter.fill_(1);
  }
  average.update(flag(0));
  for (const torch::Tensor& shadow : average.shadow_params()) EXPECT_TRUE(shadow.eq(0.5).all().item<bool>());
}

TEST(Ema, KeepsFloat32ShadowsOfItsOwnAndTracksNoGradients) {
  const torch::Tensor parameter = torch::ones({2}, torch::kBFloat16).set_requires_grad(true);
  ExponentialMovingAverage average({}, {parameter});
  {
    const torch::NoGradGuard no_grad;
    parameter.fill_(3);
  }
  EXPECT_TRUE(torch::equal(average.shadow_params()[0], torch::ones({2})));
  average.update(flag(0));
  EXPECT_TRUE(torch::equal(average.shadow_params()[0], torch::full({2}, 3.0F)));
  EXPECT_FALSE(average.shadow_params()[0].requires_grad());
}

EmaState small_state() {
  EmaState state;
  state.optimization_step = 5;
  state.shadow_params = {torch::full({2}, 1.0F), torch::full({1}, 2.0F)};
  return state;
}

ExponentialMovingAverage small_average() {
  return {{}, {torch::zeros({2}).set_requires_grad(true), torch::zeros({1}).set_requires_grad(true)}};
}

TEST(EmaLoadState, TakesOverTheFilesSettingsAsLeRobotDoes) {
  ExponentialMovingAverage average = small_average();
  EmaState state = small_state();
  state.decay = state.min_decay = 0.75;
  state.update_after_step = 2;
  average.load_state(state, "the file");
  const EmaState loaded = average.state();
  EXPECT_EQ(loaded.decay, 0.75);
  EXPECT_EQ(loaded.min_decay, 0.75);
  EXPECT_EQ(loaded.update_after_step, 2);
  average.update(flag(0));
  EXPECT_TRUE(torch::equal(average.shadow_params()[0], torch::full({2}, 0.75F)));
}

TEST(EmaLoadState, KeepsTheSchedulesOwnCurveWithoutWarmup) {
  ExponentialMovingAverage average = small_average();
  EmaState state = small_state();
  state.use_ema_warmup = false;
  average.load_state(state, "the file");
  average.update(flag(0));  // number 6: decay (1 + 5) / (10 + 5)
  EXPECT_FLOAT_EQ(average.shadow_params()[0][0].item<float>(), 6.0F / 15.0F);
}

TEST(EmaLoadState, DoesNotShareMemoryWithTheState) {
  ExponentialMovingAverage average = small_average();
  const EmaState state = small_state();
  average.load_state(state, "the file");
  average.update(flag(0));
  EXPECT_TRUE(torch::equal(state.shadow_params[0], torch::full({2}, 1.0F)));
}

struct BadState {
  std::string name;
  void (*spoil)(EmaState& state);
  std::string complaint;
};

class EmaBadState : public testing::TestWithParam<BadState> {};

TEST_P(EmaBadState, IsRefusedByNameAndChangesNothing) {
  ExponentialMovingAverage average = small_average();
  EmaState state = small_state();
  GetParam().spoil(state);
  try {
    average.load_state(state, "the file");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("the file"), HasSubstr(GetParam().complaint)));
  }
  EXPECT_EQ(average.state().optimization_step, 0);
  EXPECT_TRUE(torch::equal(average.shadow_params()[0], torch::zeros({2})));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, EmaBadState,
    testing::Values(BadState{"Count", [](EmaState& state) { state.shadow_params.pop_back(); }, "1 tensors"},
                    BadState{"Shape",
                             [](EmaState& state) {
                               state.shadow_params[1] = torch::zeros({1, 1});
                             },
                             "shadow_params[1]"},
                    BadState{"Dtype", [](EmaState& state) { state.shadow_params[1] = torch::zeros({1}, torch::kHalf); },
                             "Half"},
                    BadState{"Decay", [](EmaState& state) { state.decay = 1.5; }, "decay"},
                    BadState{"MinDecay", [](EmaState& state) { state.min_decay = std::nan(""); }, "min_decay"},
                    BadState{"Step", [](EmaState& state) { state.optimization_step = -1; }, "optimization_step"},
                    BadState{"AfterStep", [](EmaState& state) { state.update_after_step = -1; }, "update_after_step"},
                    BadState{"InvGamma", [](EmaState& state) { state.inv_gamma = 0; }, "inv_gamma"},
                    BadState{"Power", [](EmaState& state) { state.power = -0.75; }, "power"}),
    [](const auto& info) { return info.param.name; });

TEST(EmaFile, ReadsWhatLeRobotWrote) {
  const EmaState state = read_ema_state(kData / "ema_state.pt");
  EXPECT_EQ(state.decay, 0.8);
  EXPECT_EQ(state.min_decay, 0.3);
  EXPECT_EQ(state.optimization_step, 20);
  EXPECT_EQ(state.update_after_step, 3);
  EXPECT_TRUE(state.use_ema_warmup);
  EXPECT_EQ(state.inv_gamma, 2.0);
  EXPECT_EQ(state.power, 0.9);
  expect_equal(state.shadow_params, Trajectory("clamped_schedule").golden_shadows(20));
}

TEST(EmaFile, WidensShadowsAndBringsThemIntoMainMemory) {
  const EmaState state = read_ema_state(kData / "ema_state_cuda_half.pt");
  expect_equal(state.shadow_params,
               {torch::tensor({{1.5F}, {-2.25F}}), torch::tensor({0.5F, 1.0F, -3.0F}), torch::tensor({7.0F})});
  EXPECT_EQ(state.inv_gamma, 2.0);  // a Python int in that file
}

TEST(EmaFile, RoundTripsEveryField) {
  const testing_support::TemporaryDirectory directory;
  const auto path = directory.path() / "ema_state.pt";
  EmaState state = small_state();
  state.decay = 0.999;
  state.min_decay = 0.1;
  state.optimization_step = int64_t{1} << 33;
  state.update_after_step = 300;
  state.use_ema_warmup = false;
  state.inv_gamma = 1.5;
  state.power = 2.0 / 3;
  write_ema_state(local_file_system(), path, state);
  const EmaState read = read_ema_state(path);
  EXPECT_EQ(read.decay, state.decay);
  EXPECT_EQ(read.min_decay, state.min_decay);
  EXPECT_EQ(read.optimization_step, state.optimization_step);
  EXPECT_EQ(read.update_after_step, state.update_after_step);
  EXPECT_EQ(read.use_ema_warmup, state.use_ema_warmup);
  EXPECT_EQ(read.inv_gamma, state.inv_gamma);
  EXPECT_EQ(read.power, state.power);
  expect_equal(read.shadow_params, state.shadow_params);
}

// A good file with one entry changed; an empty dict entry takes the key away.
std::string refusal_with(const std::string& key, const std::optional<PickleValue>& value) {
  const testing_support::TemporaryDirectory directory;
  const auto path = directory.path() / "ema_state.pt";
  write_ema_state(local_file_system(), path, small_state());
  PickleValue::Dict dict;
  const PickleValue good = load_torch_pickle(path);
  for (const auto& entry : std::get<PickleValue::Dict>(good.data)) {
    if (entry.first != key) dict.push_back(entry);
  }
  if (value) dict.emplace_back(key, *value);
  save_torch_pickle(local_file_system(), path, {dict});
  try {
    read_ema_state(path);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(EmaFile, NamesFileAndKeyOfWhatItCannotUse) {
  EXPECT_THAT(refusal_with("power", std::nullopt), AllOf(HasSubstr("ema_state.pt"), HasSubstr("`power` is missing")));
  EXPECT_THAT(refusal_with("decay", PickleValue{std::string("0.9")}), HasSubstr("`decay` is not a number"));
  EXPECT_THAT(refusal_with("optimization_step", PickleValue{1.0}), HasSubstr("`optimization_step`"));
  EXPECT_THAT(refusal_with("use_ema_warmup", PickleValue{int64_t{1}}), HasSubstr("`use_ema_warmup`"));
  EXPECT_THAT(refusal_with("shadow_params", PickleValue{torch::zeros({1})}),
              HasSubstr("`shadow_params` is not a list"));
  EXPECT_THAT(refusal_with("shadow_params", PickleValue{PickleValue::List{{torch::zeros({1}, torch::kInt64)}}}),
              HasSubstr("`shadow_params`"));
}

TEST(EmaFile, LeavesKeysOutThatANewerDiffusersMayAdd) {
  EXPECT_EQ(refusal_with("something_new", PickleValue{1.0}), "");
}

TEST(EmaFile, IsRefusedWhereItIsAListOrNoFile) {
  const testing_support::TemporaryDirectory directory;
  const auto path = directory.path() / "ema_state.pt";
  EXPECT_THROW(read_ema_state(path), UsageError);
  save_torch_pickle(local_file_system(), path, {PickleValue::List{}});
  EXPECT_THROW(read_ema_state(path), UsageError);
}

}  // namespace
}  // namespace lerobot::optim
