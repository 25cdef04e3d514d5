// PushT (gym_pusht/PushT-v0): an agent, a disc that follows a target point, pushes a T-shaped block onto a goal pose.
// Native, and the same as gym_pusht 0.1.8 with pymunk 6.11 and OpenCV 4.14: resets from a seed, physics, keypoints and
// pictures bit for bit (where Chipmunk was compiled without fused multiply-add, as on x86-64 distributions), coverage
// and reward to 1e-12.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "lerobot/env/environment.hpp"

namespace lerobot::env {

// What an observation holds. Lengths are in pixels of the 512 x 512 arena, y points down.
enum class PushTObsType {
  kState,                     // kRootPath: float64 [5]: agent x, y, block x, y, block angle in [0, 2 pi)
  kEnvironmentStateAgentPos,  // environment_state: float64 [16], x and y of the T's 8 corners; agent_pos: float64 [2]
  kPixels,                    // kRootPath: uint8 [observation_height, observation_width, 3]
  kPixelsAgentPos,            // pixels: the same picture; agent_pos: float64 [2]
};

// "state", "environment_state_agent_pos", "pixels" or "pixels_agent_pos". Throws UsageError for another text.
PushTObsType parse_pusht_obs_type(std::string_view text);

// The keyword arguments of gym_pusht, with gymnasium's TimeLimit.
struct PushTOptions {
  PushTObsType obs_type = PushTObsType::kState;
  int64_t observation_width = 96;  // of the picture in the observation
  int64_t observation_height = 96;
  int64_t visualization_width = 680;  // of render()'s
  int64_t visualization_height = 680;
  double success_threshold = 0.95;  // coverage above which the episode is solved; reward 1 from there
  // The block's centre of gravity in its own frame, within 1e6. Absent: (0, 45).
  std::optional<std::array<double, 2>> block_cog;
  // The part of its velocity that the block keeps after a second, 0 to 1. Absent: 0, so that it moves only while
  // pushed.
  std::optional<double> damping;
  std::optional<int64_t> max_episode_steps = 300;  // steps until an episode is truncated; absent: never
};

// One PushT. An action is the point (x, y) that the agent heads for during the next 0.1 s.
// The reward is the part of the goal that the block covers, over success_threshold, at most 1.
// The info holds is_success, and pos_agent, vel_agent (x, y), block_pose, goal_pose (x, y, angle, not reduced),
// n_contacts, and after a step coverage.
class PushT final : public Environment {
 public:
  // Throws UsageError for an option out of its range, naming it.
  explicit PushT(PushTOptions options = {});
  ~PushT() override;

  const EnvironmentMetadata& metadata() const override;
  ResetResult reset(std::optional<uint64_t> seed, const ResetOptions& options = {}) override;

  // Starts an episode at agent x, y, block x, y, angle instead of a random place (gym_pusht's option reset_to_state).
  // As there, the block is put down unturned and then turned about its centre of gravity, so its x, y end up elsewhere.
  // Throws UsageError for a number that is not finite or beyond 1e6.
  ResetResult reset_to_state(const std::array<double, 5>& state, std::optional<uint64_t> seed = std::nullopt);

  // Numbers are taken as they are: a policy's float32 action must come widened. RunError for an action that is not
  // finite or beyond float32.
  StepResult step(std::span<const double> action) override;

  // With a red cross at the last action (of the episode before, right after a reset: as gym_pusht draws it).
  Image render() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lerobot::env
