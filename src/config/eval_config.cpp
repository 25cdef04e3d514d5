#include "lerobot/config/eval_config.hpp"

#include <fmt/format.h>

#include <limits>

namespace lerobot {
namespace {

constexpr config::FieldOptions kOurs{.ours = true};

}  // namespace

void EvalAcceleratorConfig::fields(config::Visitor& visit) {
  visit("mixed_precision", mixed_precision, "no, bf16 or fp16; null: as --policy.use_amp says");
}
void EvalAcceleratorConfig::validate(config::Problems& problems) const {
  if (mixed_precision && *mixed_precision != "no" && *mixed_precision != "bf16" && *mixed_precision != "fp16") {
    problems.add("mixed_precision", fmt::format("must be null, no, bf16 or fp16, got '{}'", *mixed_precision));
  }
}

EvalPipelineConfig::EvalPipelineConfig(const Registries& registries)
    : env(registries.envs), policy(registries.policies) {}

void EvalPipelineConfig::fields(config::Visitor& visit) {
  visit("env", env, "Simulation to evaluate in");
  visit("eval", eval, "How many episodes, and how");
  visit("policy", policy, "What to evaluate: --policy.path=<folder of a trained policy>");
  visit("output_dir", output_dir, "Folder for results and videos; null: outputs/eval/<date>/<time>_<job_name>");
  visit("job_name", job_name, "Name of the evaluation; null: made from the types of environment and policy");
  visit("seed", seed, "Seed of the first episode, the next has the next; null leaves them to chance");
  visit("rename_map", rename_map, "New names for what the environment observes");
  visit("trust_remote_code", trust_remote_code, "Run environments from the Hub", {.implemented = false});
  visit("accelerator", accelerator, "Precision", kOurs);
  visit("tf32", tf32, "TF32 in float32 matrix products and convolutions; null: LibTorch's defaults", kOurs);
}

void EvalPipelineConfig::validate(config::Problems& problems) const {
  if (seed && (*seed < 0 || *seed > std::numeric_limits<uint32_t>::max())) {
    problems.add("seed", fmt::format("must be between 0 and 4294967295, got {}", *seed));
  }
}

void complete(EvalPipelineConfig& config, bool has_policy_path, std::chrono::system_clock::time_point now,
              config::Problems& problems) {
  config::validate_tree(config, problems);
  Registries registries;
  registries.envs = config.env.registry();
  registries.policies = config.policy.registry();
  EvalPipelineConfig defaults(registries);
  config::refuse_unimplemented(config, defaults, problems);
  if (!config.env) problems.add("env.type", "is needed: pusht, aloha, or gym with --env.gym_id=<name>");
  if (!config.policy) {
    problems.add("policy.path",
                 "is needed: the folder of a trained policy, such as "
                 "outputs/train/<run>/checkpoints/last/pretrained_model");
  }
  if (config.eval.n_episodes == 0) problems.add("eval.n_episodes", "must be at least 1, got 0");
  if (!config.env || !config.policy) return;
  if (!has_policy_path) {
    problems.warn("policy.path", "was not given: the policy is made from scratch, with random weights");
  }
  if (!config.job_name || config.job_name->empty()) config.job_name = config.env->type() + "_" + config.policy->type();
  if (!config.output_dir || config.output_dir->empty()) {
    config.output_dir = default_output_dir("eval", *config.job_name, now);
  }
}

}  // namespace lerobot
