#include "lerobot/config/train_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lerobot/core/text.hpp"

namespace lerobot {

using config::FieldOptions;

namespace {

constexpr int64_t kLargestBatch = 1'000'000;  // far from where counting batches would overflow

// The fields of ours in a section and below it, nested as the sections are.
Json own_fields(config::Section& section) {
  Json json = Json::object();
  for (const config::Field& field : config::fields_of(section)) {
    const config::SectionSlot* const slot = field.value->slot();
    if (field.options.ours) {
      json[field.name] = field.value->to_json();
    } else if (slot != nullptr && slot->section() != nullptr) {
      Json nested = own_fields(*slot->section());
      if (!nested.empty()) json[field.name] = std::move(nested);
    }
  }
  return json;
}

void read_own_fields(const Json& json, const std::string& prefix, const std::set<std::string>& typed,
                     config::Section& section, config::Problems& problems) {
  if (!json.is_object()) return;
  for (const config::Field& field : config::fields_of(section)) {
    if (!json.contains(field.name) || typed.contains(prefix + field.name)) continue;
    const auto scope = problems.enter(field.name);
    const config::SectionSlot* const slot = field.value->slot();
    if (field.options.ours) {
      field.value->read(json[field.name], problems);
    } else if (slot != nullptr && slot->section() != nullptr) {
      read_own_fields(json[field.name], prefix + field.name + ".", typed, *slot->section(), problems);
    }
  }
}

}  // namespace

Registries::Registries() : envs(env_choices()) {
  reward_models.not_here({"reward_classifier", "robometer", "sarm", "topreward"});
}

config::ChoiceRegistry<PolicyConfig> with_lerobot_policy_names(config::ChoiceRegistry<PolicyConfig> policies) {
  std::vector<std::string> names = {
      "act",      "diffusion", "eo1",  "evo1",    "groot", "molmoact2", "fastwam",    "gaussian_actor",
      "pi0",      "pi0_fast",  "pi05", "smolvla", "tdmpc", "vqbet",     "lingbot_va", "multi_task_dit",
      "vla_jepa", "wall_x",    "xvla"};
  const auto here = policies.names();
  std::erase_if(names, [&](const std::string& name) { return std::ranges::find(here, name) != here.end(); });
  policies.not_here(std::move(names));
  return policies;
}

std::vector<config::EnumEntry<CheckpointFormat>> enum_entries(CheckpointFormat) {
  return {{CheckpointFormat::kSafetensors, "safetensors", "SAFETENSORS"},
          {CheckpointFormat::kDcp, "dcp", "DCP"},
          {CheckpointFormat::kSafetensorsAndDcp, "safetensors_dcp", "SAFETENSORS_AND_DCP"}};
}

TrainPipelineConfig::TrainPipelineConfig(const Registries& registries)
    : env(registries.envs),
      policy(registries.policies),
      reward_model(registries.reward_models),
      optimizer(registries.optimizers),
      scheduler(registries.schedulers) {}

Registries TrainPipelineConfig::registries() const {
  Registries registries;
  registries.policies = policy.registry();
  registries.optimizers = optimizer.registry();
  registries.schedulers = scheduler.registry();
  registries.envs = env.registry();
  registries.reward_models = reward_model.registry();
  return registries;
}

void TrainPipelineConfig::fields(config::Visitor& visit) {
  constexpr FieldOptions kNotYet{.implemented = false};
  constexpr FieldOptions kNewer{.newer_than_0_6_1 = true};
  visit("dataset", dataset, "What to train on");
  visit("env", env, "Simulation to evaluate in while training");
  visit("policy", policy, "What to train");
  visit("reward_model", reward_model, "A reward model to train instead of a policy");
  visit("output_dir", output_dir, "Folder for checkpoints; null: outputs/train/<date>/<time>_<job_name>");
  visit("job_name", job_name, "Name of the run; null: made from the types of policy and environment");
  visit("resume", resume, "Go on with the run that --config_path belongs to");
  visit("seed", seed, "Seed of weights, sample order and augmentation; null leaves them to chance");
  visit("cudnn_deterministic", cudnn_deterministic, "Deterministic algorithms only; slower");
  visit("num_workers", num_workers, "Threads that read and decode samples");
  visit("batch_size", batch_size, "Samples in a batch");
  visit("prefetch_factor", prefetch_factor, "Batches that each loader thread keeps ready");
  visit("persistent_workers", persistent_workers, "Recorded; loader threads always live as long as the run");
  visit("dataloader_multiprocessing_context", dataloader_multiprocessing_context,
        "Recorded; the loader uses threads, not processes");
  visit("steps", steps, "Training steps");
  visit("env_eval_freq", env_eval_freq, "Steps between evaluations in the environment; 0: never");
  visit("log_freq", log_freq, "Steps between log lines; 0: none");
  visit("eval_steps", eval_steps, "Steps between evaluation losses; 0: never");
  visit("max_eval_samples", max_eval_samples, "Most samples of an evaluation loss; 0: all");
  visit("tolerance_s", tolerance_s,
        "Largest distance of a video's frame from the time stamp that asks for it, in seconds");
  visit("save_checkpoint", save_checkpoint, "Write checkpoints");
  visit("save_freq", save_freq, "Steps between checkpoints; 0: only one at the end");
  visit("checkpoint_format", checkpoint_format, "Files that the weights go to; dcp and safetensors_dcp: not yet",
        kNewer);
  visit("use_policy_training_preset", use_policy_training_preset, "Take the policy's own optimizer and scheduler");
  visit("optimizer", optimizer, "Optimizer, without the preset");
  visit("scheduler", scheduler, "Learning-rate schedule, without the preset");
  visit("parallelism", parallelism, "How a run is spread over processes", kNewer);
  visit("accelerator", accelerator, "Precision and distributed execution", kNewer);
  visit("eval", eval, "Evaluation in the environment");
  visit("ema", ema, "Moving average of the weights", kNewer);
  visit("wandb", wandb, "Weights & Biases");
  visit("peft", peft, "Training of adapters instead of the whole policy", kNotYet);
  visit("job", job, "Where to run");
  visit("save_checkpoint_to_hub", save_checkpoint_to_hub, "Upload every checkpoint", kNotYet);
  visit("sample_weighting", sample_weighting, "Weights of training samples", kNotYet);
  visit("rename_map", rename_map, "New names for features of the dataset");
  visit("checkpoint_path", checkpoint_path, "Checkpoint the run was resumed from", {.has_flag = false});
  visit("tf32", tf32, "TF32 in float32 matrix products and convolutions; null: LibTorch's defaults", {.ours = true});
  visit("save_total_limit", save_total_limit, "Checkpoints to keep; older ones are removed; null: all", {.ours = true});
  visit("async_save", async_save, "Write checkpoints in the background, from a copy in main memory", {.ours = true});
  visit("non_finite_limit", non_finite_limit,
        "Stop after this many updates in a row with an infinite or NaN loss or gradient, counted when a line is logged "
        "or a checkpoint is due; 0: never",
        {.ours = true});
}

void TrainPipelineConfig::validate(config::Problems& problems) const {
  const auto at_least = [&](const char* field, int64_t value, int64_t bound) {
    if (value < bound) problems.add(field, fmt::format("must be at least {}, got {}", bound, value));
  };
  at_least("steps", steps, 0);
  at_least("batch_size", batch_size, 1);
  if (batch_size > kLargestBatch) {
    problems.add("batch_size", fmt::format("must be at most {}, got {}", kLargestBatch, batch_size));
  }
  at_least("num_workers", num_workers, 0);
  if (save_total_limit) at_least("save_total_limit", *save_total_limit, 1);
  at_least("non_finite_limit", non_finite_limit, 0);
  if (num_workers > 0) at_least("prefetch_factor", prefetch_factor, 1);
  // numpy's seeds, which LeRobot sets from the same number, end at 32 bits.
  if (seed && (*seed < 0 || *seed > std::numeric_limits<uint32_t>::max())) {
    problems.add("seed", fmt::format("must be between 0 and 4294967295, got {}", *seed));
  }
  if (!(tolerance_s >= 0.0)) {
    problems.add("tolerance_s", fmt::format("must not be negative, got {}", python_float_repr(tolerance_s)));
  }
  if (checkpoint_format != CheckpointFormat::kSafetensors) {
    problems.add(
        "checkpoint_format",
        fmt::format("'{}' is for sharded runs (--parallelism.dp_shard), which are not implemented yet; leave it "
                    "at safetensors",
                    config::Codec<CheckpointFormat>::write(checkpoint_format).get<std::string>()));
  }
  const std::vector<std::string> contexts = {"fork", "spawn", "forkserver"};
  if (dataloader_multiprocessing_context &&
      std::ranges::find(contexts, *dataloader_multiprocessing_context) == contexts.end()) {
    problems.add(
        "dataloader_multiprocessing_context",
        fmt::format("must be null or one of {}, got '{}'", join(contexts, ", "), *dataloader_multiprocessing_context));
  }
}

Json to_policy_config_json(const PolicyConfig& policy) {
  Json json = {{"type", policy.type()}};
  json.update(config::to_json(policy));
  return json;
}

Json to_train_config_json(const TrainPipelineConfig& config) {
  TrainPipelineConfig defaults(config.registries());
  defaults.eval.batch_size = config.eval.batch_size;
  return config::to_portable_json(config, defaults);
}

Json to_own_json(const TrainPipelineConfig& config) {
  return own_fields(const_cast<TrainPipelineConfig&>(config));
}

void read_own_json(const Json& json, const std::set<std::string>& typed, TrainPipelineConfig& config) {
  config::Problems problems;
  read_own_fields(json, "", typed, config, problems);
  config::validate_tree(config, problems);
  problems.throw_if_any();
}

}  // namespace lerobot
