// The physics of PushT: a kinematic agent, a T-shaped block and four walls, in a Chipmunk space.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "geometry.hpp"

namespace lerobot::env {

inline constexpr double kAgentRadius = 15.0;
inline constexpr double kWallRadius = 2.0;  // half of a wall's thickness
inline constexpr std::array<std::array<Point, 2>, 4> kWalls{
    {{{{5, 506}, {5, 5}}}, {{{5, 5}, {506, 5}}}, {{{506, 5}, {506, 506}}}, {{{5, 506}, {506, 506}}}}};

struct PushTPhysicsOptions {
  std::optional<std::array<double, 2>> block_cog;  // centre of gravity in the block's frame; otherwise (0, 45)
  std::optional<double> damping;  // part of its velocity that the block keeps after a second; otherwise 0
};

struct AgentMotion {
  Point position;
  Point velocity;  // pixels a second
};

struct BlockMotion {
  Pose pose;  // of the block's frame, not of its centre of gravity; the angle is not reduced
  Point velocity;
  double angular_velocity = 0.0;
};

// What a picture shows, in arena coordinates.
struct PushTScene {
  Point agent;
  std::array<Point, 4> bar;
  std::array<Point, 4> stem;
  std::vector<std::array<Point, 2>> contacts;  // one short line along the normal for each contact of the last substep
};

// One episode's world. Bodies, shapes, their order and all constants are gym_pusht 0.1.8's, so that every number that
// comes out is the same bit for bit; this needs a Chipmunk and this file compiled without fused multiply-add.
// Not thread-safe; different worlds may live in different threads.
class PushTPhysics {
 public:
  static constexpr double kTimeStep = 0.01;  // seconds

  explicit PushTPhysics(const PushTPhysicsOptions& options);
  ~PushTPhysics();

  // Puts agent (x, y) and block (x, y, angle: placed unturned, then turned about its centre of gravity), then lets one
  // substep part what overlaps.
  void place(const std::array<double, 5>& state);

  // One time step in which the agent is accelerated towards `target` (x, y), which must be finite and below 1e39: the
  // library aborts the process on a velocity that is not finite.
  void substep(Point target);

  AgentMotion agent() const;
  BlockMotion block() const;
  PushTScene scene() const;

  // Contact points of all substeps since the world was made or the count was cleared.
  int64_t contact_points() const;
  void clear_contact_points();

 private:
  struct World;
  std::unique_ptr<World> world_;
};

}  // namespace lerobot::env
