// --env.*: the simulation that a policy is evaluated in (LeRobot: envs/configs.py).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lerobot/config/choice.hpp"
#include "lerobot/config/features.hpp"
#include "lerobot/config/schema.hpp"

namespace lerobot {

// What every environment's configuration has in common. Fields are written in the order that fields() lists them.
struct EnvConfig : config::Section {
  std::optional<std::string> task;
  int64_t fps = 30;
  FeatureMap features;                   // by the environment's own names; cameras [H, W, C]
  OrderedMap<std::string> features_map;  // from those names to the policy's
  int64_t max_parallel_tasks = 1;
  bool disable_env_checker = true;
  // Ours: the Python that environments in worker processes run with; nullopt: $VIRTUAL_ENV/bin/python, else python3.
  std::optional<std::string> python;

  virtual std::string type() const = 0;  // "pusht"
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;

  // What depends on other fields, filled in once all are read, as LeRobot does.
  virtual void resolve() {}

  // What gymnasium.make() gets when the environment runs in Python.
  virtual std::string gym_id() const = 0;
  virtual Json gym_kwargs() const = 0;                   // but for max_episode_steps
  virtual std::vector<std::string> imports() const = 0;  // packages that register gym_id
  virtual std::optional<int64_t> max_episode_steps() const = 0;
};

struct PushtEnvConfig final : EnvConfig {
  int64_t episode_length = 300;
  std::string obs_type = "pixels_agent_pos";
  std::string render_mode = "rgb_array";
  int64_t visualization_width = 384;
  int64_t visualization_height = 384;
  int64_t observation_height = 384;  // of the declared feature; gym_pusht's pictures are 96 x 96 whatever it says
  int64_t observation_width = 384;
  std::string backend = "native";  // ours: native, or python for gym_pusht itself

  PushtEnvConfig();
  std::string type() const override { return "pusht"; }
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
  void resolve() override;
  std::string gym_id() const override;
  Json gym_kwargs() const override;
  std::vector<std::string> imports() const override { return {"gym_pusht"}; }
  std::optional<int64_t> max_episode_steps() const override { return episode_length; }
};

struct AlohaEnvConfig final : EnvConfig {
  int64_t episode_length = 400;
  std::string obs_type = "pixels_agent_pos";
  int64_t observation_height = 480;
  int64_t observation_width = 640;
  std::string render_mode = "rgb_array";

  AlohaEnvConfig();
  std::string type() const override { return "aloha"; }
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
  void resolve() override;
  std::string gym_id() const override;
  Json gym_kwargs() const override;
  std::vector<std::string> imports() const override { return {"gym_aloha"}; }
  std::optional<int64_t> max_episode_steps() const override { return episode_length; }
};

// Ours: any gymnasium environment of an installed package.
struct GymEnvConfig final : EnvConfig {
  std::string id;                         // --env.gym_id
  std::vector<std::string> packages;      // --env.imports
  Json kwargs = Json::object();           // --env.kwargs
  std::optional<int64_t> episode_length;  // nullopt: the environment's own limit

  std::string type() const override { return "gym"; }
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
  std::string gym_id() const override { return id; }
  Json gym_kwargs() const override;
  std::vector<std::string> imports() const override { return packages; }
  std::optional<int64_t> max_episode_steps() const override { return episode_length; }
};

// The three above; LeRobot's other types are known as not here.
config::ChoiceRegistry<EnvConfig> env_choices();

}  // namespace lerobot
