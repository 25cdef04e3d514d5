#include "lerobot/eval/evaluate_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "lerobot/checkpoint/policy_weights.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "lerobot/core/signals.hpp"
#include "lerobot/core/text.hpp"
#include "lerobot/device/device.hpp"
#include "lerobot/env/registry.hpp"
#include "lerobot/eval/actor.hpp"
#include "lerobot/eval/evaluate.hpp"
#include "lerobot/eval/evaluation_scope.hpp"
#include "lerobot/precision/run_summary.hpp"
#include "lerobot/precision/tf32.hpp"
#include "lerobot/processor/pipeline.hpp"

namespace lerobot::eval {
namespace {

// What acts, and where.
struct Evaluated {
  torch::Device device = torch::kCPU;
  precision::Precision precision = precision::Precision::kNo;
  std::shared_ptr<policy::Policy> policy;
  std::unique_ptr<processor::PolicyProcessors> processors;
};

// --accelerator.mixed_precision, or what torch.autocast does where --policy.use_amp asks for it: fp16 on CUDA, else
// bf16.
precision::Precision choose_precision(const EvalPipelineConfig& config, torch::Device device) {
  if (config.accelerator.mixed_precision) {
    return precision::resolve_precision(*config.accelerator.mixed_precision, device);
  }
  if (!config.policy->use_amp) return precision::Precision::kNo;
  return precision::resolve_precision(device.is_cuda() ? "fp16" : "bf16", device);
}

void choose_device(Evaluated& evaluated, const config::ParsedEvalCommand& command) {
  PolicyConfig& policy = *command.config->policy;
  std::vector<std::string> warnings;
  evaluated.device =
      device::resolve_device(policy.device, command.typed.contains("policy.device"), device::query(), warnings);
  for (const std::string& warning : warnings) log::warning(warning);
  policy.device = device::device_to_record(policy.device, evaluated.device);
  evaluated.precision = choose_precision(*command.config, evaluated.device);
}

// The environment's features by the policy's names; cameras [C, H, W].
FeatureMap policy_features(const EnvConfig& env, const OrderedMap<std::string>& rename_map) {
  FeatureMap features;
  for (const auto& [name, feature] : env.features) {
    PolicyFeature named = feature;
    auto& shape = named.shape;
    if (named.type == FeatureType::kVisual && shape.size() == 3 && shape[2] < shape[0] && shape[2] < shape[1]) {
      shape = {shape[2], shape[0], shape[1]};
    }
    const std::string* const mapped = env.features_map.find(name);
    const std::string key = mapped != nullptr ? *mapped : name;
    const std::string* const renamed = rename_map.find(key);
    features.set(renamed != nullptr ? *renamed : key, std::move(named));
  }
  return features;
}

// Not an error: an environment may give more than it declares.
void warn_of_unknown_names(const EnvConfig& env, const OrderedMap<std::string>& rename_map) {
  std::vector<std::string> names;
  for (const auto& [name, feature] : policy_features(env, {})) {
    if (feature.type != FeatureType::kAction) names.push_back(name);
  }
  for (const auto& [from, to] : rename_map) {
    if (std::ranges::find(names, from) != names.end()) continue;
    log::warning(fmt::format(
        "--rename_map: `{}` (to become `{}`) is not among the observations that {} declares ({}). The map goes from "
        "the environment's names to the policy's.{}",
        from, to, env.type(), join(names, ", "), did_you_mean(from, names)));
  }
}

// LeRobot's rule (make_policy): actions are the environment's where it declares them, and a policy made from scratch
// takes its inputs from the environment too.
void fit_features(PolicyConfig& policy, const EnvConfig& env, const OrderedMap<std::string>& rename_map) {
  const bool needs_inputs = !policy.input_features || policy.input_features->empty();
  FeatureMap inputs;
  FeatureMap outputs;
  for (auto& [name, feature] : policy_features(env, rename_map)) {
    (feature.type == FeatureType::kAction ? outputs : inputs).set(name, feature);
  }
  if (needs_inputs) policy.input_features = std::move(inputs);
  if (!outputs.empty()) policy.output_features = std::move(outputs);
  config::Problems problems;
  const auto scope = problems.enter("policy");
  policy.validate_features(problems);
  problems.throw_if_any();
}

void make_policy(Evaluated& evaluated, const config::ParsedEvalCommand& command,
                 const policy::PolicyRegistry& policies) {
  const EvalPipelineConfig& config = *command.config;
  warn_of_unknown_names(*config.env, config.rename_map);
  fit_features(*config.policy, *config.env, config.rename_map);
  evaluated.policy = policy::make_policy(policies, config.policy->clone());
  if (!command.policy_path.empty()) checkpoint::load_policy_weights(*evaluated.policy, command.policy_path);
  evaluated.policy->to(evaluated.device);
  if (command.policy_path.empty()) {
    processor::ProcessorConfig from_scratch = processor::processor_config(*config.policy, evaluated.device);
    from_scratch.rename_map = config.rename_map;
    evaluated.processors = std::make_unique<processor::PolicyProcessors>(std::move(from_scratch), FeatureStats{});
    return;
  }
  evaluated.processors = std::make_unique<processor::PolicyProcessors>(processor::PolicyProcessors::load(
      command.policy_path, {.device = evaluated.device, .rename_map = config.rename_map}));
}

void make_output_dir(FileSystem& files, const std::filesystem::path& folder) {
  try {
    files.create_directories(folder);
  } catch (const FileSystemError& error) {
    throw UsageError(fmt::format("--output_dir: {}", error.what()));
  }
}

int64_t successes(const EvalResult& result) {
  int64_t count = 0;
  for (const TaskResult& task : result.tasks) count += std::ranges::count_if(task.episodes, &Episode::success);
  return count;
}

Json provenance(const config::ParsedEvalCommand& command, const Evaluated& evaluated) {
  const EvalPipelineConfig& config = *command.config;
  const Json policy = to_policy_config_json(*config.policy);
  return {{"version", LEROBOT_CPP_VERSION},
          {"policy", {{"type", config.policy->type()}, {"path", command.policy_path.string()}}},
          {"n_action_steps", policy.value("n_action_steps", Json())},
          {"device", device::describe(evaluated.device)},
          {"precision", std::string(precision::to_string(evaluated.precision))},
          {"env", config.env->type()},
          {"seed", config.seed ? Json(*config.seed) : Json()},
          {"batch_size", config.eval.batch_size}};
}

}  // namespace

EvalResult evaluate_command(config::ParsedEvalCommand command, const policy::PolicyRegistry& policies,
                            FileSystem& files) {
  const EvalPipelineConfig& config = *command.config;
  for (const std::string& warning : command.warnings) log::warning(warning);
  Evaluated evaluated;
  choose_device(evaluated, command);
  if (config.seed) device::seed_everything(static_cast<uint64_t>(*config.seed));
  precision::set_tf32(config.tf32);
  log::info(fmt::format("Output dir: {}", config.output_dir->string()));
  make_output_dir(files, *config.output_dir);
  log::info(fmt::format("Making environment (batch_size={}, async={}).", config.eval.batch_size,
                        config.eval.use_async_envs && config.eval.batch_size > 1));
  const auto environments = std::make_shared<env::VectorEnv>(
      env::make_environments(*config.env, config.eval.batch_size, config.eval.use_async_envs),
      env::thread_count(*config.env, config.eval.batch_size, config.eval.use_async_envs));
  log::info("Making policy.");
  make_policy(evaluated, command, policies);
  log::info(precision::run_summary(evaluated.device, evaluated.precision, nullptr, config.tf32));

  const EvaluationScope evaluating(*evaluated.policy, evaluated.device);
  PolicyActor actor(*evaluated.policy, *evaluated.processors, evaluated.device, evaluated.precision);
  EvalOptions options;
  options.n_episodes = config.eval.n_episodes;
  if (config.seed) options.start_seed = static_cast<uint64_t>(*config.seed);
  options.score_rule = config.eval.count_step_after_end ? ScoreRule::kLeRobot : ScoreRule::kEpisodeOnly;
  options.videos_dir = *config.output_dir / "videos";
  options.output_dir = config.output_dir;
  options.fps = static_cast<double>(config.env->fps);
  options.provenance = provenance(command, evaluated);
  options.check = [] {
    signals::throw_if_stop_requested("before the last episode; the finished ones are in episodes.jsonl");
  };
  const std::vector<EvalTask> tasks = {{.group = config.env->type(), .id = 0, .open = [&] { return environments; }}};
  EvalResult result = evaluate(files, tasks, actor, options);
  log_results(result);
  const Aggregate overall = result.overall();
  log::info(fmt::format(
      "{} of {} episodes succeeded, average of their largest rewards {:.3f}; results in {}, {} videos in {}",
      successes(result), config.eval.n_episodes, overall.avg_max_reward,
      (*config.output_dir / "eval_info.json").string(), overall.video_paths.size(), options.videos_dir->string()));
  log::info("End of eval");
  return result;
}

}  // namespace lerobot::eval
