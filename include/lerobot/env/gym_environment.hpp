// gymnasium environments written in Python, in worker processes: any package that a user has installed. The only place
// where the programs run Python.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lerobot/core/json.hpp"
#include "lerobot/env/environment.hpp"

namespace lerobot::env {

class GymWorker;

struct GymTimeouts {
  std::chrono::milliseconds make = std::chrono::seconds(300);  // imports, scene files, the first OpenGL context
  std::chrono::milliseconds call = std::chrono::seconds(120);  // a reset, step or render
  std::chrono::milliseconds close = std::chrono::seconds(5);   // then the process is killed
};

struct GymOptions {
  std::string gym_id;                // "gym_aloha/AlohaInsertion-v0", as gymnasium.make takes it
  std::vector<std::string> imports;  // modules that register it; none: the part of gym_id before '/', when needed
  Json kwargs = Json::object();      // keyword arguments of gymnasium.make
  std::optional<int64_t> max_episode_steps;  // absent: what the package registered
  bool disable_env_checker = true;

  // The interpreter: a path, or a name that is looked up in PATH. Empty: $VIRTUAL_ENV/bin/python, else python3.
  std::string python;
  std::vector<std::filesystem::path> sys_path;     // folders to look for packages in before all others
  std::map<std::string, std::string> environment;  // variables on top of this process's and gym_worker_environment's
  GymTimeouts timeouts;
};

// The interpreter that `python` (GymOptions) stands for. Throws UsageError when there is none.
std::filesystem::path find_gym_python(const std::string& python);

// An array of the observations: its path (observation.hpp), and what gymnasium's space says. Types that ElementType
// lacks are widened: float16 to float32; bool and smaller integers to int64.
struct GymObservationSpace {
  std::string path;
  ElementType type = ElementType::kUint8;
  std::vector<int64_t> shape;

  bool operator==(const GymObservationSpace&) const = default;
};

// One environment of a worker process. The process lives as long as one of its environments.
//
// Errors name the environment and give Python's own message; the traceback goes to the log. UsageError: there is no
// such package, environment or argument. RunError: reset, step or render raised, gave what its space does not allow,
// did not return in time (the process is then killed), or the process died. After an exception the environment may be
// used on, after a death it throws.
class GymEnvironment final : public Environment {
 public:
  GymEnvironment(std::shared_ptr<GymWorker> worker, int64_t index, const Json& description);  // by the factory below
  ~GymEnvironment() override;

  // `task` is the attribute task_description, else task, else ""; read anew at every reset.
  const EnvironmentMetadata& metadata() const override { return metadata_; }
  const std::vector<GymObservationSpace>& observation_space() const { return space_; }

  ResetResult reset(std::optional<uint64_t> seed, const ResetOptions& options = {}) override;
  ResetResult reset_with_options(std::optional<uint64_t> seed, const Json& options);  // gymnasium's; null: none

  // The numbers reach the environment as float32, like those of a LeRobot policy.
  StepResult step(std::span<const double> action) override;
  Image render() override;

  // An attribute of the environment or of a wrapper around it. Absent: there is none. Null: neither a scalar nor a
  // short list.
  std::optional<Json> attribute(const std::string& name);
  void set_attribute(const std::string& name, const Json& value);

  int64_t process_id() const;  // of the worker

 private:
  Json request(const char* operation) const;
  Observation read_observation() const;

  std::shared_ptr<GymWorker> worker_;
  int64_t index_;  // within the worker
  EnvironmentMetadata metadata_;
  std::vector<GymObservationSpace> space_;
  std::vector<size_t> offsets_;  // of the arrays of space_ in the worker's memory
  bool is_reset_ = false;
};

// `count` environments, each in a process of its own (started and made side by side), or all in one, which an
// environment that keeps state outside of itself needs (gym_aloha; step those in index order, from one thread).
std::vector<std::unique_ptr<GymEnvironment>> make_gym_environments(const GymOptions& options, int64_t count,
                                                                   bool one_process_each);

}  // namespace lerobot::env
