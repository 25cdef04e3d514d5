#include "pusht_physics.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "golden_pusht.hpp"
#include "pusht_start.hpp"
#include "tee.hpp"

namespace lerobot::env {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

std::array<double, 10> motion(const PushTPhysics& physics) {
  const auto [position, velocity] = physics.agent();
  const BlockMotion block = physics.block();
  return {position.x,   position.y,       velocity.x,       velocity.y,       block.pose.x,
          block.pose.y, block.pose.angle, block.velocity.x, block.velocity.y, block.angular_velocity};
}

void place_as(const GoldenTrajectory& trajectory, PushTPhysics& physics) {
  NumpyGenerator random(trajectory.seed);
  physics.place(trajectory.reset_to_state ? *trajectory.reset_to_state : random_pusht_start(random));
}

// Elsewhere rounding differs and soon the path: what can be asked for is that it sets out the same way.
const size_t kComparedSubsteps = kChipmunkIsBitExact ? SIZE_MAX : 50;
const double kTolerance = kChipmunkIsBitExact ? 0.0 : 1e-9;

TEST(PushTPhysics, MovesAsPymunkDoesInEverySubstep) {
  size_t compared = 0;
  for (const GoldenTrajectory& trajectory : golden_trajectories()) {
    PushTPhysics physics({});
    place_as(trajectory, physics);
    for (size_t i = 0; i < std::min(trajectory.substeps.size(), kComparedSubsteps); ++i) {
      SCOPED_TRACE(testing::Message() << trajectory.name << ", substep " << i);
      physics.clear_contact_points();
      const auto [x, y] = trajectory.actions[i / 10];
      physics.substep({x, y});
      ASSERT_THAT(motion(physics), Pointwise(DoubleNear(kTolerance), trajectory.substeps[i]));
      ASSERT_EQ(physics.contact_points(), trajectory.substep_contacts[i]);
      ++compared;
    }
  }
  EXPECT_GE(compared, 200U);
}

// The physics that PushT runs, and a second world beside it that shows the velocities.
class Replay {
 public:
  explicit Replay(const GoldenTrajectory& trajectory) : physics_({}) {
    place_as(trajectory, physics_);
    state_ = reset(environment_, trajectory).observation;
  }

  StepResult step(const std::array<double, 2>& action) {
    for (int i = 0; i < 10; ++i) physics_.substep({action[0], action[1]});
    StepResult result = environment_.step(action);
    state_ = result.observation;
    return result;
  }

  uint32_t digest() const {
    std::vector<double> numbers;
    const auto add = [&](const auto& values) { numbers.insert(numbers.end(), values.begin(), values.end()); };
    add(motion(physics_));
    add(state_.at("").float64());
    for (const auto& [x, y] : tee_corners(physics_.block().pose)) add(std::array{x, y});
    return crc32(std::as_bytes(std::span(numbers)));
  }

 private:
  PushT environment_;
  PushTPhysics physics_;
  Observation state_;
};

TEST(PushTPhysics, ReachesTheSameStateBitForBitAfterEveryStep) {
  if (!kChipmunkIsBitExact) GTEST_SKIP() << "this machine's Chipmunk rounds differently";
  for (const GoldenTrajectory& trajectory : golden_trajectories()) {
    Replay replay(trajectory);
    ASSERT_EQ(replay.digest(), trajectory.digests[0]) << trajectory.name << " after the reset";
    for (size_t i = 0; i < trajectory.actions.size(); ++i) {
      SCOPED_TRACE(testing::Message() << trajectory.name << ", step " << i);
      const StepResult result = replay.step(trajectory.actions[i]);
      ASSERT_EQ(replay.digest(), trajectory.digests[i + 1]);
      ASSERT_NEAR(result.reward, trajectory.rewards[i], 1e-12);
      ASSERT_EQ(result.terminated, trajectory.terminated_at == static_cast<int64_t>(i + 1));
      ASSERT_EQ(std::get<int64_t>(result.info.values.at("n_contacts")), trajectory.n_contacts[i]);
    }
  }
}

TEST(PushTPhysics, KeepsAFarAwayAgentApart) {
  PushTPhysics physics({});
  physics.place({100, 100, 300, 300, 0.5});
  const Pose before = physics.block().pose;
  for (int i = 0; i < 1000; ++i) physics.substep({3e38, -3e38});
  EXPECT_NEAR(physics.agent().position.x, 3e38, 1e37);
  EXPECT_EQ(physics.block().pose.x, before.x);
  EXPECT_EQ(physics.contact_points(), 0);
}

TEST(PushTPhysics, TakesADampingAndACentreOfGravity) {
  // gym_pusht's block after three steps of pushing and three of drawing back.
  const auto expect_pose = [](const PushTPhysicsOptions& options, const Pose& expected) {
    PushTPhysics physics(options);
    physics.place({256, 200, 256, 256, 0.0});
    for (int i = 0; i < 30; ++i) physics.substep({250, 280});
    for (int i = 0; i < 30; ++i) physics.substep({256, 100});
    const Pose pose = physics.block().pose;
    EXPECT_NEAR(pose.x, expected.x, 1e-6);
    EXPECT_NEAR(pose.y, expected.y, 1e-6);
    EXPECT_NEAR(pose.angle, expected.angle, 1e-8);
  };
  expect_pose({}, {255.0993781441148, 279.5971213643299, -0.02620168131606601});
  expect_pose({.damping = 0.5}, {251.665116411899, 346.6720580935569, -0.09650445216521991});
  expect_pose({.block_cog = std::array{0.0, 30.0}}, {255.46270548518282, 279.58293965908433, -0.027468100407296844});
}

}  // namespace
}  // namespace lerobot::env
