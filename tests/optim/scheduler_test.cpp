#include "lerobot/optim/scheduler.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <limits>

#include "lerobot/core/error.hpp"
#include "lerobot/optim/optimizer_configs.hpp"
#include "optim/config_from_json.hpp"
#include "support/torch.hpp"

namespace lerobot::optim {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::unique_ptr<SchedulerConfig> config_from(const Json& json) {
  return config_from_json(register_schedulers(), json);
}

Optimizer optimizer_with_rates(double lr, const std::vector<double>& group_lrs) {
  AdamWConfig config;
  config.lr = lr;
  std::vector<ParamGroup> groups;
  for (const double group_lr : group_lrs) groups.push_back({{torch::zeros({1}).requires_grad_()}, group_lr});
  return Optimizer(config, std::move(groups));
}

Optimizer optimizer_with_rate(double lr) {
  return optimizer_with_rates(lr, {lr});
}

CosineDecayWithWarmupSchedulerConfig small_cosine_decay() {
  CosineDecayWithWarmupSchedulerConfig config;
  config.num_warmup_steps = 3;
  config.num_decay_steps = 10;
  config.peak_lr = 1e-3;
  config.decay_lr = 1e-4;
  return config;
}

TEST(Scheduler, EqualsLeRobotsRatesExactly) {
  const Json cases = read_json(LEROBOT_TEST_DATA "/optim/lr_schedules.json");
  ASSERT_GT(cases.size(), 20u);
  for (const Json& golden : cases) {
    SCOPED_TRACE(golden["config"].dump() + " N=" + golden["num_training_steps"].dump());
    Optimizer optimizer = optimizer_with_rates(golden["lr"], golden["group_lrs"].get<std::vector<double>>());
    Scheduler scheduler(*config_from(golden["config"]), optimizer, golden["num_training_steps"]);
    for (size_t s = 0; s < golden["rates"].size(); ++s) {
      const auto expected = golden["rates"][s].get<std::vector<double>>();
      ASSERT_EQ(scheduler.last_lr(), expected) << "step " << s;
      for (size_t group = 0; group < expected.size(); ++group) ASSERT_EQ(optimizer.lr(group), expected[group]);
      scheduler.step();
    }
  }
}

// The lr column of a log that `lerobot-train` wrote with log_freq 2: the mean of the rates after the two steps.
TEST(Scheduler, ReproducesTheRatesOfALeRobotLog) {
  Optimizer optimizer = optimizer_with_rate(1e-3);
  Scheduler scheduler(small_cosine_decay(), optimizer, 10);
  std::vector<std::string> column;
  for (int step = 1; step <= 10; step += 2) {
    scheduler.step();
    double sum = optimizer.lr(0);
    scheduler.step();
    sum += optimizer.lr(0);
    column.push_back(fmt::format("{:.1e}", sum / 2));
  }
  EXPECT_THAT(column, testing::ElementsAre("6.3e-04", "7.5e-04", "4.8e-04", "2.4e-04", "1.1e-04"));
}

TEST(Scheduler, SaysHowItAdaptedAScheduleToAShorterRun) {
  std::string note;
  small_cosine_decay().factor({.num_training_steps = 5, .lr = 1e-3}, note);
  EXPECT_THAT(note, AllOf(HasSubstr("Auto-scaling LR scheduler"), HasSubstr("num_warmup_steps 3 -> 1"),
                          HasSubstr("num_decay_steps 10 -> 5")));
  note.clear();
  small_cosine_decay().factor({.num_training_steps = 10, .lr = 1e-3}, note);
  EXPECT_EQ(note, "");
}

TEST(Scheduler, RefusesAPolynomialThatStartsBelowItsEnd) {
  DiffuserSchedulerConfig config;
  config.name = "polynomial";
  config.num_warmup_steps = 1;
  Optimizer optimizer = optimizer_with_rate(1e-8);
  EXPECT_THAT([&] { Scheduler(config, optimizer, 10); }, ThrowsMessage<UsageError>(HasSubstr("--optimizer.lr")));
}

TEST(Scheduler, StaysFiniteWhenTheWarmupIsAsLongAsTheRun) {
  DiffuserSchedulerConfig config;
  config.num_warmup_steps = 4;
  for (const char* name : {"cosine", "linear", "cosine_with_restarts", "polynomial"}) {
    config.name = name;
    std::string note;
    const LrFactor factor = config.factor({.num_training_steps = 4, .lr = 1e-3}, note);
    for (int64_t s = 0; s < 8; ++s) EXPECT_TRUE(factor(s) >= 0.0 && factor(s) <= 1.0) << name << " at " << s;
  }
}

TEST(SchedulerState, RestoresPositionAndBaseRates) {
  Optimizer optimizer = optimizer_with_rate(1e-3);
  Scheduler whole(small_cosine_decay(), optimizer, 10);
  for (int i = 0; i < 4; ++i) whole.step();
  Optimizer other = optimizer_with_rate(5e-3);
  Scheduler resumed(small_cosine_decay(), other, 10);
  resumed.load_state_dict(whole.state_dict(), "scheduler_state.json");
  EXPECT_EQ(resumed.state_dict(), whole.state_dict());
  EXPECT_EQ(resumed.step_count(), 4);
  whole.step();
  resumed.step();
  EXPECT_EQ(other.lr(0), optimizer.lr(0));
}

TEST(SchedulerState, RefusesAFileOfAnotherShapeAndNamesThePlace) {
  const auto refused = [](const std::function<void(Json&)>& spoil, const std::string& place) {
    Optimizer optimizer = optimizer_with_rate(1e-3);
    Scheduler scheduler(small_cosine_decay(), optimizer, 10);
    Json state = scheduler.state_dict();
    spoil(state);
    EXPECT_THAT([&] { scheduler.load_state_dict(state, "scheduler_state.json"); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("scheduler_state.json"), HasSubstr(place))));
  };
  refused([](Json& s) { s.erase("_is_initial"); }, "_is_initial");
  refused([](Json& s) { s["last_epoch"] = 1.0; }, "last_epoch: expected an integer");
  refused([](Json& s) { s["last_epoch"] = -1; }, "last_epoch");
  refused([](Json& s) { s["last_epoch"] = std::numeric_limits<int64_t>::max(); }, "last_epoch: must be from 0 to");
  refused([](Json& s) { s["_step_count"] = std::numeric_limits<int64_t>::max(); }, "_step_count: must be from 0 to");
  refused([](Json& s) { s["base_lrs"].push_back(0.1); }, "base_lrs: expected a list of 1, got 2");
  refused([](Json& s) { s["base_lrs"][0] = 1; }, "base_lrs[0]");
  refused([](Json& s) { s["verbose"] = false; }, "unknown key `verbose`");
}

}  // namespace
}  // namespace lerobot::optim
