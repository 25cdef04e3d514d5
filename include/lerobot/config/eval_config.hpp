// The whole configuration of lerobot-eval, in the key order of LeRobot's (configs/eval.py).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "lerobot/config/env_config.hpp"
#include "lerobot/config/policy_config.hpp"
#include "lerobot/config/run_config.hpp"
#include "lerobot/config/schema.hpp"
#include "lerobot/config/train_config.hpp"

namespace lerobot {

// Ours: lerobot-train's flag of the same name, for evaluation.
struct EvalAcceleratorConfig : config::Section {
  std::optional<std::string> mixed_precision;  // no, bf16 or fp16; nullopt: as --policy.use_amp says
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
};

struct EvalPipelineConfig : config::Section {
  explicit EvalPipelineConfig(const Registries& registries);

  config::Choice<EnvConfig> env;
  EvalConfig eval;
  config::Choice<PolicyConfig> policy;
  std::optional<std::filesystem::path> output_dir;
  std::optional<std::string> job_name;
  std::optional<int64_t> seed = 1000;  // of the first episode; nullopt leaves them to chance
  OrderedMap<std::string> rename_map;
  bool trust_remote_code = false;
  EvalAcceleratorConfig accelerator;
  std::optional<bool> tf32 = true;

  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
};

// From what the user asked for to what will run, and everything that speaks against it: checks each section, fills in
// job_name and output_dir. Looks at nothing but `config` and the clock.
void complete(EvalPipelineConfig& config, bool has_policy_path, std::chrono::system_clock::time_point now,
              config::Problems& problems);

}  // namespace lerobot
