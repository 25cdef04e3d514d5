#include "lerobot/env/pusht.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "image_resize.hpp"
#include "lerobot/core/error.hpp"
#include "numpy_generator.hpp"
#include "pusht_physics.hpp"
#include "pusht_raster.hpp"
#include "pusht_start.hpp"
#include "tee.hpp"

namespace lerobot::env {
namespace {

constexpr double kControlHz = 10.0;
constexpr int kSubsteps = 10;              // physics steps in a control period
constexpr int64_t kContactDivisor = 1000;  // gym_pusht's int(1 / dt * control_hz), so n_contacts is 0 or 1 in practice
constexpr int64_t kLargestSide = 16384;    // of a picture
constexpr double kFarthest = 1e6;          // pixels: farther off the physics could overflow, and abort the process

void check(bool is_valid, std::string_view name, const std::string& accepted, const auto& value) {
  if (!is_valid) throw UsageError(fmt::format("PushT: {} must be {}, got {}", name, accepted, value));
}

void validate(const PushTOptions& options) {
  for (const auto& [name, side] : {std::pair{"observation_width", options.observation_width},
                                   std::pair{"observation_height", options.observation_height},
                                   std::pair{"visualization_width", options.visualization_width},
                                   std::pair{"visualization_height", options.visualization_height}}) {
    check(side >= 1 && side <= kLargestSide, name, fmt::format("1 to {} pixels", kLargestSide), side);
  }
  check(options.success_threshold > 0.0, "success_threshold", "greater than 0", options.success_threshold);
  check(options.max_episode_steps.value_or(1) >= 1, "max_episode_steps", "at least 1",
        options.max_episode_steps.value_or(1));
  const double damping = options.damping.value_or(0.0);
  check(damping >= 0.0 && damping <= 1.0, "damping", "between 0 and 1", damping);
  for (const double coordinate : options.block_cog.value_or(std::array{0.0, 0.0})) {
    check(std::abs(coordinate) <= kFarthest, "block_cog", fmt::format("two numbers up to {:g}", kFarthest), coordinate);
  }
}

// Python's angle % (2 * pi): in [0, 2 pi) for negative angles too.
double reduced(double angle) {
  constexpr double kTurn = 2.0 * std::numbers::pi;
  const double rest = std::fmod(angle, kTurn);
  return rest < 0.0 ? rest + kTurn : rest;
}

uint64_t entropy_of_the_system() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

Point checked_target(std::span<const double> action) {
  if (action.size() != 2) {
    throw std::logic_error(fmt::format("PushT: an action has 2 numbers, got {}", action.size()));
  }
  for (const double number : action) {
    if (!(std::abs(number) <= std::numeric_limits<float>::max())) {
      throw RunError(
          fmt::format("PushT: the action must be two finite float32 numbers, got ({}, {}). A policy that gives "
                      "NaN has diverged or was fed NaN.",
                      action[0], action[1]));
    }
  }
  return {action[0], action[1]};
}

}  // namespace

PushTObsType parse_pusht_obs_type(std::string_view text) {
  if (text == "state") return PushTObsType::kState;
  if (text == "environment_state_agent_pos") return PushTObsType::kEnvironmentStateAgentPos;
  if (text == "pixels") return PushTObsType::kPixels;
  if (text == "pixels_agent_pos") return PushTObsType::kPixelsAgentPos;
  throw UsageError(fmt::format(
      "Unknown obs_type {}. Must be one of [pixels, state, environment_state_agent_pos, pixels_agent_pos]", text));
}

struct PushT::State {
  PushTOptions options;
  EnvironmentMetadata metadata;
  std::optional<NumpyGenerator> random;
  std::optional<PushTPhysics> physics;  // absent: not reset yet
  std::optional<Point> last_action;     // outlives resets, as in gym_pusht
  int64_t steps = 0;                    // of the episode

  NumpyGenerator& seeded(std::optional<uint64_t> seed);
  PushTPhysics& running();
  ResetResult start(const std::array<double, 5>& state);
  Observation observation();
  Info info(bool is_success);
};

NumpyGenerator& PushT::State::seeded(std::optional<uint64_t> seed) {
  if (seed || !random) random.emplace(seed ? *seed : entropy_of_the_system());
  return *random;
}

PushTPhysics& PushT::State::running() {
  if (!physics) throw std::logic_error("PushT: reset comes before step and render");
  return *physics;
}

ResetResult PushT::State::start(const std::array<double, 5>& state) {
  physics.emplace(PushTPhysicsOptions{options.block_cog, options.damping});
  physics->place(state);
  steps = 0;
  return {observation(), info(false)};
}

Observation PushT::State::observation() {
  const auto numbers = [](const auto&... values) {
    return Array::of(std::array<double, sizeof...(values)>{values...});
  };
  const auto pixels = [&] {
    const Image picture =
        resize_bilinear(draw_pusht(physics->scene()), options.observation_width, options.observation_height);
    return Array::of(picture.rgb, {picture.height, picture.width, 3});
  };
  const Point agent = physics->agent().position;
  const Pose block = physics->block().pose;
  Observation observation;
  switch (options.obs_type) {
    case PushTObsType::kState:
      observation.emplace(kRootPath, numbers(agent.x, agent.y, block.x, block.y, reduced(block.angle)));
      break;
    case PushTObsType::kEnvironmentStateAgentPos: {
      std::vector<double> keypoints;
      for (const auto& [x, y] : tee_corners(block)) keypoints.insert(keypoints.end(), {x, y});
      observation.emplace("environment_state", Array::of(keypoints));
      observation.emplace("agent_pos", numbers(agent.x, agent.y));
      break;
    }
    case PushTObsType::kPixels:
      observation.emplace(kRootPath, pixels());
      break;
    case PushTObsType::kPixelsAgentPos:
      observation.emplace("pixels", pixels());
      observation.emplace("agent_pos", numbers(agent.x, agent.y));
      break;
  }
  return observation;
}

Info PushT::State::info(bool is_success) {
  using Numbers = std::vector<double>;
  const auto [position, velocity] = physics->agent();
  const Pose block = physics->block().pose;
  Info info;
  info.is_success = is_success;
  info.values.emplace("pos_agent", Numbers{position.x, position.y});
  info.values.emplace("vel_agent", Numbers{velocity.x, velocity.y});
  info.values.emplace("block_pose", Numbers{block.x, block.y, block.angle});
  info.values.emplace("goal_pose", Numbers{kGoalPose.x, kGoalPose.y, kGoalPose.angle});
  info.values.emplace("n_contacts", (physics->contact_points() + kContactDivisor - 1) / kContactDivisor);
  return info;
}

PushT::PushT(PushTOptions options) : state_(std::make_unique<State>()) {
  validate(options);
  state_->options = std::move(options);
  state_->metadata = {.id = "gym_pusht/PushT-v0",
                      .render_fps = kControlHz,
                      .max_episode_steps = state_->options.max_episode_steps,
                      .action_dim = 2,
                      .task = ""};
}

PushT::~PushT() = default;

const EnvironmentMetadata& PushT::metadata() const {
  return state_->metadata;
}

ResetResult PushT::reset(std::optional<uint64_t> seed, const ResetOptions&) {
  return state_->start(random_pusht_start(state_->seeded(seed)));
}

ResetResult PushT::reset_to_state(const std::array<double, 5>& state, std::optional<uint64_t> seed) {
  for (const double number : state) {
    check(std::abs(number) <= kFarthest, "reset_to_state", fmt::format("five numbers up to {:g}", kFarthest), number);
  }
  state_->seeded(seed);
  return state_->start(state);
}

StepResult PushT::step(std::span<const double> action) {
  PushTPhysics& physics = state_->running();
  const Point target = checked_target(action);
  state_->last_action = target;
  physics.clear_contact_points();
  for (int i = 0; i < kSubsteps; ++i) physics.substep(target);

  const PushTOptions& options = state_->options;
  const double coverage = goal_coverage(physics.block().pose);
  const bool is_solved = coverage > options.success_threshold;
  ++state_->steps;
  StepResult result{.observation = state_->observation(),
                    .reward = std::clamp(coverage / options.success_threshold, 0.0, 1.0),
                    .terminated = is_solved,
                    .truncated = options.max_episode_steps && state_->steps >= *options.max_episode_steps,
                    .info = state_->info(is_solved)};
  result.info.values.emplace("coverage", coverage);
  return result;
}

Image PushT::render() {
  const PushTScene scene = state_->running().scene();
  const PushTOptions& options = state_->options;
  Image image = resize_bilinear(draw_pusht(scene), options.visualization_width, options.visualization_height);
  if (state_->last_action) draw_action_marker(image, *state_->last_action);
  return image;
}

}  // namespace lerobot::env
