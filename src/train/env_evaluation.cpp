#include "lerobot/train/env_evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <vector>

#include "lerobot/config/checkpoint_layout.hpp"
#include "lerobot/core/describe_exception.hpp"
#include "lerobot/core/log.hpp"
#include "lerobot/core/signals.hpp"
#include "lerobot/env/registry.hpp"
#include "lerobot/eval/actor.hpp"
#include "lerobot/eval/evaluate.hpp"
#include "lerobot/eval/evaluation_scope.hpp"
#include "lerobot/eval/rollout.hpp"

namespace lerobot::train {
namespace {

constexpr int64_t kMaxEpisodesRendered = 4;

// The averaged weights stand in the policy while it lives.
class AveragedWeightsScope {
 public:
  AveragedWeightsScope(policy::Policy& policy, const optim::ExponentialMovingAverage& ema)
      : parameters_(policy.parameters()) {
    const torch::NoGradGuard no_grad;
    // All copies first: what throws for lack of memory leaves the weights as they are.
    for (const torch::Tensor& parameter : parameters_) trained_.push_back(parameter.detach().clone());
    for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].copy_(ema.shadow_params().at(i));
  }
  ~AveragedWeightsScope() {
    const torch::NoGradGuard no_grad;
    for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].copy_(trained_[i]);
  }
  AveragedWeightsScope(const AveragedWeightsScope&) = delete;
  AveragedWeightsScope& operator=(const AveragedWeightsScope&) = delete;

 private:
  std::vector<torch::Tensor> parameters_;
  std::vector<torch::Tensor> trained_;
};

std::shared_ptr<env::VectorEnv> open_environments(const TrainPipelineConfig& config, int64_t count) {
  const bool use_async = config.eval.use_async_envs;
  return std::make_shared<env::VectorEnv>(env::make_environments(*config.env, count, use_async),
                                          env::thread_count(*config.env, count, use_async));
}

eval::EvalTask task_of(const TrainPipelineConfig& config) {
  return {.group = config.env->type(), .id = 0, .open = [&config] {
            return open_environments(config, config.eval.batch_size);
          }};
}

}  // namespace

EnvEvaluation::EnvEvaluation(FileSystem& files, TrainingRun& run) : files_(files), run_(run) {}

bool EnvEvaluation::is_due() const {
  return run_.config.env_eval_freq > 0 && run_.step % run_.config.env_eval_freq == 0;
}

void EnvEvaluation::try_out() {
  struct Enough {};
  const auto environments = open_environments(run_.config, 1);
  const eval::EvaluationScope evaluating(*run_.policy, run_.device);
  eval::PolicyActor actor(*run_.policy, *run_.processors, run_.device, run_.precision);
  eval::RolloutOptions options;
  options.on_step = [](const eval::RolloutStep&) { throw Enough{}; };
  try {
    eval::rollout(*environments, actor, {}, options);
  } catch (const Enough&) {
    // it works
  }
}

std::optional<Json> EnvEvaluation::run_now() {
  const TrainPipelineConfig& config = run_.config;
  eval::EvalOptions options;
  options.n_episodes = config.eval.n_episodes;
  if (config.seed) options.start_seed = static_cast<uint64_t>(*config.seed);
  options.max_episodes_rendered = kMaxEpisodesRendered;
  options.fps = static_cast<double>(config.env->fps);
  options.videos_dir =
      *config.output_dir / "eval" / ("videos_step_" + checkpoint::step_directory_name(run_.step, config.steps));
  options.check = [] { signals::throw_if_stop_requested("during an evaluation"); };
  options.show_progress = false;

  log::info(fmt::format("Eval policy at step {}", run_.step));
  eval::EvalResult result;
  try {
    std::optional<AveragedWeightsScope> averaged;
    if (run_.ema && config.ema.use_for_eval) {
      log::info("Evaluating the EMA weights");
      averaged.emplace(*run_.policy, *run_.ema);
    }
    const eval::EvaluationScope evaluating(*run_.policy, run_.device);
    eval::PolicyActor actor(*run_.policy, *run_.processors, run_.device, run_.precision);
    const std::vector<eval::EvalTask> tasks = {task_of(config)};
    result = eval::evaluate(files_, tasks, actor, options);
  } catch (const signals::Stopped&) {  // the loop saves and stops; environments that are being made throw it too
    log::info("The evaluation was broken off");
    return std::nullopt;
  } catch (const std::exception&) {
    log::error(fmt::format("The evaluation at step {} failed: {}. Training goes on", run_.step,
                           describe(std::current_exception())));
    return std::nullopt;
  }
  const eval::Aggregate overall = result.overall();
  const bool is_best = !best_success_ || overall.pc_success > *best_success_;
  best_success_ = std::max(best_success_.value_or(overall.pc_success), overall.pc_success);
  log::info(fmt::format("step {}: success={:.1f}% ({}) avg_max_reward={:.3f} avg_sum_reward={:.3f} eval_s={:.1f}",
                        run_.step, overall.pc_success,
                        is_best ? std::string("best so far") : fmt::format("best so far {:.1f}%", *best_success_),
                        overall.avg_max_reward, overall.avg_sum_reward, result.eval_s));
  return Json({{"step", run_.step},
               {"eval/pc_success", overall.pc_success},
               {"eval/avg_max_reward", overall.avg_max_reward},
               {"eval/avg_sum_reward", overall.avg_sum_reward},
               {"eval/n_episodes", overall.n_episodes},
               {"eval/eval_s", result.eval_s}});
}

}  // namespace lerobot::train
