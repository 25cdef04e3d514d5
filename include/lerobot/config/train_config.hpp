// The whole configuration of a training run, in the key order of LeRobot's train_config.json (configs/train.py).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lerobot/config/accelerator_config.hpp"
#include "lerobot/config/dataset_config.hpp"
#include "lerobot/config/env_config.hpp"
#include "lerobot/config/optimizer_config.hpp"
#include "lerobot/config/policy_config.hpp"
#include "lerobot/config/run_config.hpp"
#include "lerobot/config/schema.hpp"

namespace lerobot {

// The types that this build offers, passed down from main().
struct Registries {
  Registries();  // the environments; of reward models only LeRobot's names, as not here

  config::ChoiceRegistry<PolicyConfig> policies;
  config::ChoiceRegistry<OptimizerConfig> optimizers;
  config::ChoiceRegistry<SchedulerConfig> schedulers;
  config::ChoiceRegistry<EnvConfig> envs;
  config::ChoiceRegistry<RewardModelConfig> reward_models;
};

// The policies of a map from type to an entry with make_config (policy::PolicyRegistry); LeRobot's other types are
// known as not here.
config::ChoiceRegistry<PolicyConfig> with_lerobot_policy_names(config::ChoiceRegistry<PolicyConfig> policies);
template <class PolicyRegistry>
config::ChoiceRegistry<PolicyConfig> policy_choices(const PolicyRegistry& registry) {
  return with_lerobot_policy_names(
      config::ChoiceRegistry<PolicyConfig>::from_map(registry, [](const auto& entry) { return entry.make_config; }));
}

enum class CheckpointFormat { kSafetensors, kDcp, kSafetensorsAndDcp };
std::vector<config::EnumEntry<CheckpointFormat>> enum_entries(CheckpointFormat);

struct TrainPipelineConfig : config::Section {
  explicit TrainPipelineConfig(const Registries& registries);

  DatasetConfig dataset;
  config::Choice<EnvConfig> env;
  config::Choice<PolicyConfig> policy;
  config::Choice<RewardModelConfig> reward_model;
  std::optional<std::filesystem::path> output_dir;
  std::optional<std::string> job_name;
  bool resume = false;
  std::optional<int64_t> seed = 1000;
  bool cudnn_deterministic = false;
  int64_t num_workers = 4;
  int64_t batch_size = 8;
  int64_t prefetch_factor = 4;
  bool persistent_workers = true;
  std::optional<std::string> dataloader_multiprocessing_context = "spawn";
  int64_t steps = 100000;
  int64_t env_eval_freq = 20000;
  int64_t log_freq = 200;
  int64_t eval_steps = 0;
  int64_t max_eval_samples = 0;
  double tolerance_s = 1e-4;
  bool save_checkpoint = true;
  int64_t save_freq = 20000;  // <= 0: only at the end
  CheckpointFormat checkpoint_format = CheckpointFormat::kSafetensors;
  bool use_policy_training_preset = true;
  config::Choice<OptimizerConfig> optimizer;
  config::Choice<SchedulerConfig> scheduler;  // null: constant learning rate
  ParallelismConfig parallelism;
  AcceleratorConfig accelerator;
  EvalConfig eval;
  EmaConfig ema;
  WandbConfig wandb;
  std::optional<PeftConfig> peft;
  JobConfig job;
  bool save_checkpoint_to_hub = false;
  std::optional<SampleWeightingConfig> sample_weighting;
  OrderedMap<std::string> rename_map;
  std::optional<std::filesystem::path> checkpoint_path;  // the step folder resumed from; no flag
  // Ours: TF32 in matrix products and convolutions; nullopt leaves LibTorch's own settings alone.
  std::optional<bool> tf32 = true;
  std::optional<int64_t> save_total_limit;  // ours: checkpoints to keep; nullopt: all
  bool async_save = true;                   // ours: a thread writes while training goes on
  int64_t non_finite_limit = 10;            // ours: withheld updates in a row that end the run; 0: none

  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;  // rules of single fields; the rest: complete()

  Registries registries() const;  // those it was made from
};

// What complete() has to know beside the configuration.
struct RunContext {
  std::filesystem::path config_path;  // --config_path, empty when not given
  bool has_policy_path = false;       // --policy.path was given
  std::set<std::string> typed;        // flags on the command line, without dashes
  Json file;                          // content of --config_path's file; null when not given
  std::chrono::system_clock::time_point now = std::chrono::system_clock::now();  // names the default output_dir
};

// From what the user asked for to what will run, and everything that speaks against it: checks each section, refuses
// what is not implemented, resolves a resume (policy.pretrained_path, checkpoint_path), fills in job_name, output_dir
// and the optimizer and scheduler of the policy's training preset. Looks at the file system, changes nothing there.
void complete(TrainPipelineConfig& config, const RunContext& context, config::Problems& problems);

// train_config.json and config.json as LeRobot reads them.
Json to_train_config_json(const TrainPipelineConfig& config);
Json to_policy_config_json(const PolicyConfig& policy);

// Our own fields (those LeRobot's train_config.json must not hold) for training_state/lerobot_cpp.json, and back:
// fields absent from `json` or typed on the command line stay as they are.
Json to_own_json(const TrainPipelineConfig& config);
void read_own_json(const Json& json, const std::set<std::string>& typed, TrainPipelineConfig& config);

}  // namespace lerobot
