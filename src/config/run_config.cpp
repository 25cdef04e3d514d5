#include "lerobot/config/run_config.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

namespace lerobot {

void EvalConfig::fields(config::Visitor& visit) {
  visit("n_episodes", n_episodes, "Episodes to roll out at each evaluation");
  visit("batch_size", batch_size, "Environments that run side by side; 0 chooses by the number of cores");
  visit("use_async_envs", use_async_envs, "A process for each environment");
  constexpr config::FieldOptions kNotYet{.implemented = false};
  visit("recording", recording, "Keep the rollouts as a dataset", kNotYet);
  visit("recording_repo_id", recording_repo_id, "Hub dataset that the recorded rollouts go to", kNotYet);
  visit("recording_private", recording_private, "Whether that dataset is private", kNotYet);
  visit("count_step_after_end", count_step_after_end,
        "Count the step after an episode's end in its score, as LeRobot does where other episodes of the batch go on",
        {.ours = true});
}

void EvalConfig::validate(config::Problems& problems) const {
  if (n_episodes < 0) problems.add("n_episodes", fmt::format("must not be negative, got {}", n_episodes));
  if (batch_size < 0) problems.add("batch_size", fmt::format("must not be negative, got {}", batch_size));
  if (recording_repo_id && !recording) problems.add("recording_repo_id", "needs --eval.recording=true");
}

void EvalConfig::resolve(int64_t cores) {
  if (n_episodes < 0 || batch_size < 0) return;  // validate() says so
  if (batch_size == 0) {
    const auto by_cores = std::max<int64_t>(1, static_cast<int64_t>(std::floor(static_cast<double>(cores) * 0.7)));
    batch_size = std::min<int64_t>({by_cores, n_episodes, 64});
  }
  batch_size = std::min(batch_size, n_episodes);
}

void EmaConfig::fields(config::Visitor& visit) {
  visit("enable", enable, "Keep an exponential moving average of the weights");
  visit("decay", decay, "A constant decay instead of the schedule");
  visit("update_after_step", update_after_step, "Updates before the average starts");
  visit("inv_gamma", inv_gamma, "Schedule: 1 - (1 + step / inv_gamma)^-power");
  visit("power", power, "Schedule: the exponent");
  visit("min_decay", min_decay, "Schedule: smallest decay");
  visit("max_decay", max_decay, "Schedule: largest decay");
  visit("use_for_eval", use_for_eval, "Evaluate the averaged weights");
}

void EmaConfig::validate(config::Problems& problems) const {
  const auto text = [](double value) { return python_float_repr(value); };
  if (decay && !(*decay >= 0.0 && *decay <= 1.0)) {
    problems.add("decay", fmt::format("must be between 0 and 1, got {}", text(*decay)));
  }
  const EmaConfig defaults;
  if (decay && (min_decay != defaults.min_decay || max_decay != defaults.max_decay)) {
    problems.add("decay", "is a constant and excludes --ema.min_decay and --ema.max_decay");
  }
  if (!(inv_gamma > 0.0)) problems.add("inv_gamma", fmt::format("must be above 0, got {}", text(inv_gamma)));
  if (!(power > 0.0)) problems.add("power", fmt::format("must be above 0, got {}", text(power)));
  if (!(0.0 <= min_decay && min_decay <= max_decay && max_decay <= 1.0)) {
    problems.add("min_decay", fmt::format("0 <= min_decay <= max_decay <= 1 must hold, got {} and {}", text(min_decay),
                                          text(max_decay)));
  }
}

void WandbConfig::fields(config::Visitor& visit) {
  visit("enable", enable, "Log to Weights & Biases", {.implemented = false});
  visit("disable_artifact", disable_artifact, "Do not upload checkpoints");
  visit("project", project, "Project");
  visit("entity", entity, "User or team");
  visit("notes", notes, "Notes on the run");
  visit("run_id", run_id, "Run to go on with");
  visit("mode", mode, "online, offline or disabled");
  visit("add_tags", add_tags, "Tag the run with the main settings");
}

void PeftConfig::fields(config::Visitor& visit) {
  visit("target_modules", target_modules, "Modules that get adapters");
  visit("full_training_modules", full_training_modules, "Modules that are trained whole");
  visit("method_type", method_type, "Kind of adapter");
  visit("init_type", init_type, "How adapters are initialised");
  visit("r", r, "Rank of the adapters");
  visit("lora_alpha", lora_alpha, "Scale of the adapters, divided by the rank");
}

void JobConfig::fields(config::Visitor& visit) {
  visit("target", target, "Where to run: null or local is this machine (others: not yet)");
  visit("image", image, "Container image of a remote job");
  visit("timeout", timeout, "Longest time of a remote job");
  visit("detach", detach, "Do not wait for a remote job");
  visit("tags", tags, "Tags of a remote job");
}

void JobConfig::validate(config::Problems& problems) const {
  if (target && *target != "local") {
    problems.add("target", fmt::format("'{}' is not implemented yet: runs are local; leave it out", *target));
  }
}

void SampleWeightingConfig::fields(config::Visitor& visit) {
  visit("type", type, "rabc or uniform");
  visit("progress_path", progress_path, "File with the progress of each frame");
  visit("head_mode", head_mode, "Progress head to read: sparse or dense");
  visit("kappa", kappa, "Progress per chunk that counts fully");
  visit("epsilon", epsilon, "Keeps the weights' sum from being zero");
  visit("extra_params", extra_params, "Further parameters");
}

std::filesystem::path default_output_dir(std::string_view kind, std::string_view job_name,
                                         std::chrono::system_clock::time_point now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm local{};
  localtime_r(&seconds, &local);
  return fmt::format("outputs/{}/{:%Y-%m-%d/%H-%M-%S}_{}", kind, local, job_name);
}

}  // namespace lerobot
