#include "lerobot/config/env_config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lerobot/core/text.hpp"

namespace lerobot {
namespace {

constexpr config::FieldOptions kOurs{.ours = true};

void require_at_least_one(config::Problems& problems, const char* field, int64_t value) {
  if (value < 1) problems.add(field, fmt::format("must be at least 1, got {}", value));
}

void require_one_of(config::Problems& problems, const char* field, const std::string& value,
                    const std::vector<std::string>& accepted) {
  if (std::ranges::find(accepted, value) != accepted.end()) return;
  problems.add(field, fmt::format("must be one of {}, got '{}'", join(accepted, ", "), value));
}

}  // namespace

void EnvConfig::fields(config::Visitor& visit) {
  visit("task", task, "Task of the environment");
  visit("fps", fps, "Control steps a second");
  visit("features", features, "What the environment gives and takes, by its own names");
  visit("features_map", features_map, "From the environment's names to the policy's");
  visit("max_parallel_tasks", max_parallel_tasks, "Recorded; tasks are evaluated one after the other");
  visit("disable_env_checker", disable_env_checker, "Leave out gymnasium's checks of an environment in Python");
  visit("python", python, "Python that environments in worker processes run with; null: the active one", kOurs);
}
void EnvConfig::validate(config::Problems& problems) const {
  require_at_least_one(problems, "fps", fps);
  require_at_least_one(problems, "max_parallel_tasks", max_parallel_tasks);
}

PushtEnvConfig::PushtEnvConfig() {
  task = "PushT-v0";
  fps = 10;
  features = {{"action", {FeatureType::kAction, {2}}}, {"agent_pos", {FeatureType::kState, {2}}}};
  features_map = {{"action", "action"},
                  {"agent_pos", "observation.state"},
                  {"environment_state", "observation.environment_state"},
                  {"pixels", "observation.image"}};
}
void PushtEnvConfig::fields(config::Visitor& visit) {
  EnvConfig::fields(visit);
  visit("episode_length", episode_length, "Steps after which an episode ends");
  visit("obs_type", obs_type, "pixels_agent_pos or environment_state_agent_pos; also pixels, state");
  visit("render_mode", render_mode, "rgb_array");
  visit("visualization_width", visualization_width, "Width of the videos, in pixels");
  visit("visualization_height", visualization_height, "Height of the videos, in pixels");
  visit("observation_height", observation_height, "Recorded; observed pictures are 96 pixels high");
  visit("observation_width", observation_width, "Recorded; observed pictures are 96 pixels wide");
  visit("backend", backend, "native, or python to run gym_pusht itself", kOurs);
}
void PushtEnvConfig::validate(config::Problems& problems) const {
  EnvConfig::validate(problems);
  require_at_least_one(problems, "episode_length", episode_length);
  require_one_of(problems, "obs_type", obs_type,
                 {"pixels_agent_pos", "environment_state_agent_pos", "pixels", "state"});
  require_one_of(problems, "render_mode", render_mode, {"rgb_array"});
  require_one_of(problems, "backend", backend, {"native", "python"});
  // gym_pusht's action marker has no width below 96 pixels, and its drawing fails there.
  for (const auto& [field, size] : {std::pair{"visualization_width", visualization_width},
                                    std::pair{"visualization_height", visualization_height}}) {
    if (size < 96 || size > 4096) problems.add(field, fmt::format("must be from 96 to 4096 pixels, got {}", size));
  }
  if (task != "PushT-v0") problems.add("task", fmt::format("must be PushT-v0, got '{}'", task.value_or("null")));
}
void PushtEnvConfig::resolve() {
  if (obs_type == "pixels_agent_pos") {
    features.set("pixels", {FeatureType::kVisual, {observation_height, observation_width, 3}});
  } else if (obs_type == "environment_state_agent_pos") {
    features.set("environment_state", {FeatureType::kEnv, {16}});
  }
}
std::string PushtEnvConfig::gym_id() const {
  return "gym_pusht/" + task.value_or("");
}
Json PushtEnvConfig::gym_kwargs() const {
  return {{"obs_type", obs_type},
          {"render_mode", render_mode},
          {"visualization_width", visualization_width},
          {"visualization_height", visualization_height}};
}

AlohaEnvConfig::AlohaEnvConfig() {
  task = "AlohaInsertion-v0";
  fps = 50;
  features = {{"action", {FeatureType::kAction, {14}}}};
  features_map = {{"action", "action"},
                  {"agent_pos", "observation.state"},
                  {"top", "observation.image.top"},
                  {"pixels/top", "observation.images.top"}};
}
void AlohaEnvConfig::fields(config::Visitor& visit) {
  EnvConfig::fields(visit);
  visit("episode_length", episode_length, "Steps after which an episode ends");
  visit("obs_type", obs_type, "pixels_agent_pos or pixels");
  visit("observation_height", observation_height, "Height of the observed pictures, in pixels");
  visit("observation_width", observation_width, "Width of the observed pictures, in pixels");
  visit("render_mode", render_mode, "rgb_array");
}
void AlohaEnvConfig::validate(config::Problems& problems) const {
  EnvConfig::validate(problems);
  require_at_least_one(problems, "episode_length", episode_length);
  require_one_of(problems, "obs_type", obs_type, {"pixels_agent_pos", "pixels"});
  require_one_of(problems, "render_mode", render_mode, {"rgb_array"});
  if (!task || task->empty()) problems.add("task", "is null; AlohaInsertion-v0 or AlohaTransferCube-v0 is needed");
}
void AlohaEnvConfig::resolve() {
  const PolicyFeature camera{FeatureType::kVisual, {observation_height, observation_width, 3}};
  if (obs_type == "pixels") {
    features.set("top", camera);
  } else {
    features.set("agent_pos", {FeatureType::kState, {14}});
    features.set("pixels/top", camera);
  }
}
std::string AlohaEnvConfig::gym_id() const {
  return "gym_aloha/" + task.value_or("");
}
Json AlohaEnvConfig::gym_kwargs() const {
  return {{"obs_type", obs_type}, {"render_mode", render_mode}};
}

void GymEnvConfig::fields(config::Visitor& visit) {
  EnvConfig::fields(visit);
  visit("gym_id", id, "Name of the environment, as for gymnasium.make()");
  visit("imports", packages, "Python packages to import first: those that register the environment");
  visit("kwargs", kwargs, "Further arguments of gymnasium.make()");
  visit("episode_length", episode_length, "Steps after which an episode ends; null: the environment's own limit");
}
void GymEnvConfig::validate(config::Problems& problems) const {
  EnvConfig::validate(problems);
  if (id.empty()) problems.add("gym_id", "is needed with --env.type=gym, as for gymnasium.make()");
  if (!kwargs.is_object()) problems.add("kwargs", "must be a dict");
  if (episode_length) require_at_least_one(problems, "episode_length", *episode_length);
}

Json GymEnvConfig::gym_kwargs() const {
  Json arguments = kwargs;
  if (!arguments.contains("render_mode")) arguments["render_mode"] = "rgb_array";  // for the videos
  return arguments;
}

config::ChoiceRegistry<EnvConfig> env_choices() {
  config::ChoiceRegistry<EnvConfig> envs;
  envs.add("aloha", [] { return std::make_unique<AlohaEnvConfig>(); });
  envs.add("pusht", [] { return std::make_unique<PushtEnvConfig>(); });
  envs.add("gym", [] { return std::make_unique<GymEnvConfig>(); });
  envs.not_here({"gym_manipulator", "libero", "metaworld", "robocasa", "vlabench", "isaaclab_arena", "libero_plus",
                 "robotwin", "robomme"});
  return envs;
}

}  // namespace lerobot
