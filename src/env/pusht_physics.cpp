#include "pusht_physics.hpp"

#include <chipmunk/chipmunk.h>

#include "chipmunk_quiet_start.hpp"

namespace lerobot::env {
namespace {

struct Free {
  void operator()(cpSpace* space) const { cpSpaceFree(space); }
  void operator()(cpBody* body) const { cpBodyFree(body); }
  void operator()(cpShape* shape) const { cpShapeFree(shape); }
};
using Space = std::unique_ptr<cpSpace, Free>;
using Body = std::unique_ptr<cpBody, Free>;
using Shape = std::unique_ptr<cpShape, Free>;

constexpr double kStiffness = 100.0;  // of the agent's PD control
constexpr double kDamping = 20.0;
constexpr double kBlockMass = 1.0;
// Twice the bar's moment of inertia; the stem does not count.
constexpr double kBlockMoment = 3000.0;
// The mean of the centroids of bar and stem.
constexpr cpVect kBlockCenterOfGravity{0.0, 45.0};

using Corners = std::array<cpVect, 4>;
constexpr Corners kBar{{{-60, 30}, {60, 30}, {60, 0}, {-60, 0}}};
constexpr Corners kStem{{{-15, 30}, {-15, 120}, {15, 120}, {15, 30}}};
cpVect vector(Point point) {
  return cpv(point.x, point.y);
}

Point point(cpVect vector) {
  return {vector.x, vector.y};
}

Shape polygon(cpBody* body, const Corners& corners) {
  return Shape(cpPolyShapeNew(body, static_cast<int>(corners.size()), corners.data(), cpTransformIdentity, 0.0));
}

std::array<Point, 4> corners_in_arena(const cpBody* body, const cpShape* shape) {
  std::array<Point, 4> corners;
  for (int i = 0; i < 4; ++i) corners[i] = point(cpBodyLocalToWorld(body, cpPolyShapeGetVert(shape, i)));
  return corners;
}

}  // namespace

struct PushTPhysics::World {
  // In this order: the space goes first, while what it holds is alive.
  Body arena, agent, block;
  std::array<Shape, 4> walls;
  Shape agent_disc, bar, stem;
  Space space;
  int64_t contact_points = 0;

  explicit World(const PushTPhysicsOptions& options);
  void add_walls();
  void add_agent();
  void add_block();
  void count_contacts();
};

// The order in which shapes are added is part of the result: it decides the order in which contacts are solved.
PushTPhysics::World::World(const PushTPhysicsOptions& options) : space(cpSpaceNew()) {
  cpSpaceSetGravity(space.get(), cpvzero);
  cpSpaceSetDamping(space.get(), options.damping.value_or(0.0));
  add_walls();
  add_agent();
  add_block();
  if (options.block_cog) {
    cpBodySetCenterOfGravity(block.get(), cpv((*options.block_cog)[0], (*options.block_cog)[1]));
  }
  count_contacts();
}

void PushTPhysics::World::add_walls() {
  arena.reset(cpBodyNewStatic());
  for (size_t i = 0; i < walls.size(); ++i) {
    walls[i].reset(cpSegmentShapeNew(arena.get(), vector(kWalls[i][0]), vector(kWalls[i][1]), kWallRadius));
    cpSpaceAddShape(space.get(), walls[i].get());
  }
}

void PushTPhysics::World::add_agent() {
  agent.reset(cpBodyNewKinematic());
  cpBodySetPosition(agent.get(), cpv(256.0, 400.0));
  agent_disc.reset(cpCircleShapeNew(agent.get(), kAgentRadius, cpvzero));
  cpSpaceAddBody(space.get(), agent.get());
  cpSpaceAddShape(space.get(), agent_disc.get());
}

void PushTPhysics::World::add_block() {
  block.reset(cpBodyNew(kBlockMass, kBlockMoment));
  bar = polygon(block.get(), kBar);
  stem = polygon(block.get(), kStem);
  cpBodySetCenterOfGravity(block.get(), kBlockCenterOfGravity);
  cpBodySetAngle(block.get(), 0.0);
  cpBodySetPosition(block.get(), cpv(256.0, 300.0));
  cpSpaceAddBody(space.get(), block.get());
  cpSpaceAddShape(space.get(), bar.get());
  cpSpaceAddShape(space.get(), stem.get());
}

void PushTPhysics::World::count_contacts() {
  cpCollisionHandler* handler = cpSpaceAddCollisionHandler(space.get(), 0, 0);  // all shapes have collision type 0
  handler->userData = &contact_points;
  handler->postSolveFunc = [](cpArbiter* arbiter, cpSpace*, cpDataPointer data) {
    *static_cast<int64_t*>(data) += cpArbiterGetCount(arbiter);
  };
}

PushTPhysics::PushTPhysics(const PushTPhysicsOptions& options) {
  start_chipmunk_quietly();
  world_ = std::make_unique<World>(options);
}

PushTPhysics::~PushTPhysics() = default;

void PushTPhysics::place(const std::array<double, 5>& state) {
  const auto [agent_x, agent_y, block_x, block_y, block_angle] = state;
  cpBodySetPosition(world_->agent.get(), cpv(agent_x, agent_y));
  cpBodySetPosition(world_->block.get(), cpv(block_x, block_y));
  cpBodySetAngle(world_->block.get(), block_angle);
  cpSpaceStep(world_->space.get(), kTimeStep);
}

void PushTPhysics::substep(Point target) {
  const auto accelerated = [](double target, double position, double velocity) {
    const double acceleration = kStiffness * (target - position) + kDamping * (0.0 - velocity);
    return velocity + acceleration * kTimeStep;
  };
  const auto [position, velocity] = agent();
  cpBodySetVelocity(world_->agent.get(),
                    cpv(accelerated(target.x, position.x, velocity.x), accelerated(target.y, position.y, velocity.y)));
  cpSpaceStep(world_->space.get(), kTimeStep);
}

AgentMotion PushTPhysics::agent() const {
  const cpBody* body = world_->agent.get();
  return {point(cpBodyGetPosition(body)), point(cpBodyGetVelocity(body))};
}

BlockMotion PushTPhysics::block() const {
  const cpBody* body = world_->block.get();
  const cpVect origin = cpBodyGetPosition(body);
  return {{origin.x, origin.y, cpBodyGetAngle(body)}, point(cpBodyGetVelocity(body)), cpBodyGetAngularVelocity(body)};
}

PushTScene PushTPhysics::scene() const {
  const cpBody* block = world_->block.get();
  PushTScene scene{
      agent().position, corners_in_arena(block, world_->bar.get()), corners_in_arena(block, world_->stem.get()), {}};
  // The only public way to the contacts of the last substep.
  cpSpaceDebugDrawOptions options{};
  options.flags = CP_SPACE_DEBUG_DRAW_COLLISION_POINTS;
  options.data = &scene.contacts;
  options.drawSegment = [](cpVect a, cpVect b, cpSpaceDebugColor, cpDataPointer data) {
    static_cast<std::vector<std::array<Point, 2>>*>(data)->push_back({point(a), point(b)});
  };
  cpSpaceDebugDraw(world_->space.get(), &options);
  return scene;
}

int64_t PushTPhysics::contact_points() const {
  return world_->contact_points;
}

void PushTPhysics::clear_contact_points() {
  world_->contact_points = 0;
}

}  // namespace lerobot::env
