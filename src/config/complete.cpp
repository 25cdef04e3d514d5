// The part of LeRobot's TrainPipelineConfig.validate() that looks beyond single fields (configs/train.py).
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "lerobot/config/checkpoint_layout.hpp"
#include "lerobot/config/train_config.hpp"

namespace lerobot {
namespace {

namespace fs = std::filesystem;

// Is something wrong with this section already? Then that it is null says nothing.
bool is_reported(const config::Problems& problems, std::string_view section) {
  return std::ranges::any_of(problems.lines(), [&](const std::string& line) {
    return line.starts_with(fmt::format("--{}.", section)) || line.starts_with(fmt::format("--{}:", section));
  });
}

// Without "./", "x/.." and a slash at the end. Links are not followed: checkpoints/last stays checkpoints/last.
fs::path normal(const fs::path& path) {
  const fs::path result = path.lexically_normal();
  return result.has_filename() || !result.has_relative_path() ? result : result.parent_path();
}

// Resume: weights come from the folder of the configuration file, the training state from beside that folder.
void resolve_resume(TrainPipelineConfig& config, const RunContext& context, config::Problems& problems) {
  if (!config.resume) return;
  if (context.has_policy_path) {
    problems.add(
        "resume",
        "true and --policy.path exclude each other: resume a run with --config_path, or start a new one from a "
        "policy's weights without --resume");
    return;
  }
  if (context.config_path.empty()) {
    problems.add("resume", "true needs --config_path=<checkpoint>/pretrained_model/train_config.json");
    return;
  }
  const bool is_folder = fs::is_directory(context.config_path);
  const fs::path folder = normal(is_folder ? context.config_path : context.config_path / "..");
  config.checkpoint_path = normal(folder / "..");
  fs::path pretrained_model = folder;
  if (!fs::is_directory(*config.checkpoint_path / checkpoint::kTrainingStateDirectory)) {
    // A downloaded repository has the configuration in its root and the state to go on from in its checkpoints.
    if (const auto step = checkpoint::newest_checkpoint(folder / checkpoint::kCheckpointsDirectory)) {
      config.checkpoint_path = normal(*step);
      pretrained_model = *config.checkpoint_path / checkpoint::kPretrainedModelDirectory;
    }
  }
  if (config.policy) config.policy->pretrained_path = pretrained_model.string();
}

bool is_within(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

// The recorded output_dir counts on resume, as in LeRobot. It misleads where the run's folder has moved, or where it
// was recorded relative to another working directory.
void warn_if_saving_elsewhere(const TrainPipelineConfig& config, const RunContext& context,
                              config::Problems& problems) {
  if (!config.checkpoint_path || !config.output_dir || config.output_dir->empty()) return;
  if (context.typed.contains("output_dir")) return;
  std::error_code error;
  const fs::path step = normal(fs::weakly_canonical(*config.checkpoint_path, error));
  if (error) return;
  const fs::path output_dir = normal(fs::weakly_canonical(*config.output_dir, error));
  if (error || is_within(step, output_dir)) return;
  const fs::path checkpoints = step.parent_path();
  const bool has_run_folder = checkpoints.filename() == checkpoint::kCheckpointsDirectory;
  problems.warn("output_dir",
                fmt::format("the run goes on in the recorded '{}', but the checkpoint {} does not lie in it; to save "
                            "beside that checkpoint add --output_dir={}",
                            config.output_dir->string(), config.checkpoint_path->string(),
                            has_run_folder ? checkpoints.parent_path().string() : "<its run's folder>"));
}

void fill_in_names(TrainPipelineConfig& config, const RunContext& context) {
  if (!config.policy) return;
  if (!config.job_name || config.job_name->empty()) {
    config.job_name = config.env ? config.env->type() + "_" + config.policy->type() : config.policy->type();
  }
  if (!config.output_dir || config.output_dir->empty()) {
    config.output_dir = default_output_dir("train", *config.job_name, context.now);
  }
}

void check_output_dir(const TrainPipelineConfig& config, config::Problems& problems) {
  if (!config.output_dir || config.output_dir->empty()) return;
  const std::string folder = config.output_dir->string();
  std::error_code ignored;
  if (fs::is_directory(*config.output_dir, ignored)) {
    if (!config.resume) {
      const bool holds_a_run = fs::exists(*config.output_dir / "checkpoints", ignored);
      problems.add("output_dir", fmt::format("'{}' exists already; choose another folder{}", folder,
                                             holds_a_run ? fmt::format(", or go on with that run by --resume=true "
                                                                       "--config_path={}",
                                                                       folder)
                                                         : std::string()));
    }
  } else if (fs::exists(*config.output_dir, ignored)) {
    problems.add("output_dir", fmt::format("'{}' is not a folder", folder));
  }
}

bool was_typed_below(const RunContext& context, std::string_view section) {
  for (const std::string& flag : context.typed)
    if (flag == section || flag.starts_with(std::string(section) + ".")) return true;
  return false;
}

// On resume the optimizer's files beat the configuration, as in LeRobot. (They hold nothing about clipping.)
void warn_about_recorded_settings(const RunContext& context, config::Problems& problems) {
  for (const std::string& flag : context.typed) {
    if (flag == "optimizer.type" || flag == "optimizer.grad_clip_norm") continue;
    if (!flag.starts_with("optimizer.") && !flag.starts_with("policy.optimizer_")) continue;
    problems.warn(flag,
                  "has no effect on --resume: the value in the checkpoint's optimizer_param_groups.json counts. To "
                  "train with another one start a new run from the weights: "
                  "--policy.path=<checkpoint>/pretrained_model");
  }
}

// json["a"]["b"] for "a.b"; null when it is not there.
Json at_dotted(const Json& json, std::string_view dotted) {
  const Json* node = &json;
  while (!dotted.empty()) {
    const size_t dot = std::min(dotted.find('.'), dotted.size());
    const auto found = node->is_object() ? node->find(std::string(dotted.substr(0, dot))) : node->end();
    if (!node->is_object() || found == node->end()) return nullptr;
    node = &*found;
    dotted.remove_prefix(std::min(dot + 1, dotted.size()));
  }
  return *node;
}

// What a resumed run may do differently, but then it is another run from there on.
void warn_about_changes(const TrainPipelineConfig& config, const RunContext& context, config::Problems& problems) {
  constexpr std::pair<const char*, const char*> kConsequences[] = {
      {"seed", "frames come in another order and are augmented otherwise from here on"},
      {"dataset.episodes", "training goes on at the same place in the order of other frames"},
      {"dataset.exclude_episodes", "training goes on at the same place in the order of other frames"},
      {"dataset.eval_split", "training goes on at the same place in the order of other frames"},
      {"accelerator.mixed_precision", "results are rounded otherwise from here on"}};
  const Json current = config::to_json(config);
  for (const auto& [flag, consequence] : kConsequences) {
    if (!context.typed.contains(flag)) continue;
    Json recorded = at_dotted(context.file, flag);
    // Fields newer than LeRobot 0.6.1 are left out of the file at their default.
    if (recorded.is_null() && flag == std::string_view("accelerator.mixed_precision")) recorded = "no";
    const Json value = at_dotted(current, flag);
    if (value == recorded) continue;
    problems.warn(
        flag, fmt::format("is {} now and was {} in the run that is resumed: {}", to_python_json(value, {.indent = -1}),
                          to_python_json(recorded, {.indent = -1}), consequence));
  }
}

// Flags that are about something that is off.
void warn_about_idle_flags(const TrainPipelineConfig& config, const RunContext& context, config::Problems& problems) {
  const auto warn = [&](const char* section, bool is_idle, const char* needs) {
    for (const std::string& flag : context.typed) {
      const bool is_below = flag == section || flag.starts_with(std::string(section) + ".");
      if (is_idle && is_below && flag != needs) problems.warn(flag, fmt::format("has no effect without --{}", needs));
    }
  };
  warn("ema", !config.ema.enable, "ema.enable");
  warn("dataset.image_transforms", !config.dataset.image_transforms.enable, "dataset.image_transforms.enable");
  warn("max_eval_samples", config.eval_steps <= 0, "eval_steps");
  warn("dataset.eval_split", config.dataset.eval_split > 0.0 && config.eval_steps <= 0, "eval_steps");
  warn("accelerator.grad_scaler", config.accelerator.mixed_precision != "fp16", "accelerator.mixed_precision=fp16");
  warn("save_total_limit", !config.save_checkpoint, "save_checkpoint=true");
  warn("env_eval_freq", !config.env && config.env_eval_freq > 0, "env.type");
  warn("eval", !config.env, "env.type");
  warn("wandb", !config.wandb.enable, "wandb.enable");
  warn("prefetch_factor", config.num_workers == 0, "num_workers above 0");
  for (const std::string& flag : context.typed) {
    const bool is_preset = flag.starts_with("policy.optimizer_") || flag.starts_with("policy.scheduler_");
    if (is_preset && !config.use_policy_training_preset) {
      problems.warn(flag, "has no effect without --use_policy_training_preset: --optimizer.* and --scheduler.* decide");
    }
  }
  if (config.dataset.root && context.typed.contains("dataset.revision")) {
    problems.warn("dataset.revision", "has no effect with --dataset.root, whose folder is taken as it is");
  }
  const int64_t batches = config.accelerator.gradient_accumulation.steps;
  if (config.steps > 0 && batches > config.steps) {
    problems.warn("accelerator.gradient_accumulation.steps",
                  fmt::format("{} batches make one update, and --steps={} end before the first: the weights stay as "
                              "they are",
                              batches, config.steps));
  }
}

// With the preset the policy chooses; on resume the recorded choice stands.
void choose_optimizer(TrainPipelineConfig& config, const RunContext& context, config::Problems& problems) {
  if (!config.use_policy_training_preset) {
    const std::pair<const char*, bool> choices[] = {{"optimizer", !config.optimizer}, {"scheduler", !config.scheduler}};
    for (const auto& [name, is_null] : choices) {
      if (!is_null || is_reported(problems, name)) continue;
      problems.add(
          fmt::format("{}.type", name),
          "must be given with --use_policy_training_preset=false, which needs both an optimizer and a scheduler");
    }
    return;
  }
  if (config.resume || !config.policy) return;
  for (const char* section : {"optimizer", "scheduler"}) {
    if (!was_typed_below(context, section)) continue;
    problems.warn(section,
                  "has no effect: the policy's training preset decides. Add --use_policy_training_preset=false (then "
                  "--optimizer.type and --scheduler.type are both needed)");
  }
  config.optimizer.set(config.policy->optimizer_preset());
  config.scheduler.set(config.policy->scheduler_preset());
}

// Up to LeRobot 0.6.1 use_amp alone decided the precision of such a run.
void check_use_amp(const TrainPipelineConfig& config, const RunContext& context, config::Problems& problems) {
  if (!config.policy || !config.policy->use_amp || config.accelerator.mixed_precision != "no") return;
  if (was_typed_below(context, "accelerator.mixed_precision")) return;
  problems.warn(
      "policy.use_amp",
      "true is only recorded, this run computes in float32: up to LeRobot 0.6.1 it meant mixed precision, which "
      "is now asked for with --accelerator.mixed_precision=bf16 (or fp16); say no there to leave it off");
}

void check_hub(const TrainPipelineConfig& config, config::Problems& problems) {
  if (!config.policy || !config.policy->push_to_hub) return;
  if (!config.policy->repo_id || config.policy->repo_id->empty()) {
    problems.add("policy.push_to_hub",
                 "is true (the default) but there is no repository to push to; add --policy.push_to_hub=false, or name "
                 "one with --policy.repo_id=<user>/<name>");
  } else {
    problems.add(
        "policy.push_to_hub",
        fmt::format("pushing to '{}' is not implemented yet; add --policy.push_to_hub=false", *config.policy->repo_id));
  }
}

}  // namespace

void complete(TrainPipelineConfig& config, const RunContext& context, config::Problems& problems) {
  config::validate_tree(config, problems);
  TrainPipelineConfig defaults(config.registries());
  config::refuse_unimplemented(config, defaults, problems);

  resolve_resume(config, context, problems);
  if (!config.policy && !config.reward_model && !is_reported(problems, "policy") &&
      !is_reported(problems, "reward_model")) {
    problems.add("policy.type",
                 "there is no policy to train; add --policy.type=act, or --policy.path=<folder of a trained policy>");
  }
  if (!config.rename_map.empty() && config.policy && !config.policy->pretrained_path) {
    problems.add("rename_map",
                 "needs a trained policy (--policy.path): a new one takes its features' names from the dataset");
  }
  check_output_dir(config, problems);
  if (config.resume) {
    warn_if_saving_elsewhere(config, context, problems);
    warn_about_recorded_settings(context, problems);
    warn_about_changes(config, context, problems);
  }
  warn_about_idle_flags(config, context, problems);
  if (config.env && config.env_eval_freq > 0 && config.eval.n_episodes < 1) {
    problems.add("eval.n_episodes", fmt::format("must be at least 1, got {}", config.eval.n_episodes));
  }
  fill_in_names(config, context);
  choose_optimizer(config, context, problems);
  if (config.eval_steps > 0 && config.dataset.eval_split == 0.0) {
    problems.add("eval_steps", "needs --dataset.eval_split above 0, the part of the episodes to evaluate on");
  }
  check_use_amp(config, context, problems);
  check_hub(config, problems);
  if (config.save_checkpoint_to_hub && !(config.policy && config.policy->repo_id)) {
    problems.add("save_checkpoint_to_hub", "needs --policy.repo_id");
  }
}

}  // namespace lerobot
