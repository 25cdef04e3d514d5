#include "lerobot/train/train.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "lerobot/core/log.hpp"
#include "lerobot/core/text.hpp"
#include "lerobot/device/device.hpp"
#include "lerobot/device/memory.hpp"
#include "lerobot/metrics/jsonl.hpp"
#include "lerobot/metrics/metrics_tracker.hpp"
#include "lerobot/metrics/progress_bar.hpp"
#include "lerobot/optim/optimizer_configs.hpp"
#include "lerobot/optim/scheduler_configs.hpp"
#include "lerobot/train/checkpointing.hpp"
#include "lerobot/train/non_finite_monitor.hpp"
#include "lerobot/train/train_step.hpp"
#include "lerobot/train/training_run.hpp"

namespace lerobot::train {
namespace {

using Format = metrics::AverageMeter::Format;

// Seconds between laps.
class Stopwatch {
 public:
  double lap() {
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

// The state to resume from, if the run resumes. The settings that only our own file holds are taken over at once.
std::optional<checkpoint::TrainingState> saved_state(TrainPipelineConfig& config, const std::set<std::string>& typed) {
  if (!config.resume) return std::nullopt;
  auto state = checkpoint::load_training_state(*config.checkpoint_path,
                                               {.needs_scheduler = static_cast<bool>(config.scheduler)});
  if (state.lerobot_cpp) read_own_json(*state.lerobot_cpp, typed, config);
  return state;
}

int64_t count_elements(const std::vector<torch::Tensor>& parameters, bool learnable_only) {
  int64_t count = 0;
  for (const auto& parameter : parameters) {
    if (!learnable_only || parameter.requires_grad()) count += parameter.numel();
  }
  return count;
}

std::string with_big_number(std::string_view name, int64_t value) {
  return fmt::format("{}={} ({})", name, value, format_big_number(static_cast<double>(value)));
}

void log_banner(const TrainingRun& run) {
  const TrainPipelineConfig& config = run.config;
  const auto parameters = run.policy->parameters();
  log::info(fmt::format("Output dir: {}", config.output_dir->string()));
  log::info(with_big_number("cfg.steps", config.steps));
  log::info(with_big_number("dataset.num_frames", run.dataset->num_frames()));
  log::info(fmt::format("dataset.num_episodes={}", run.dataset->episodes().size()));
  log::info(
      fmt::format("Effective batch size: {} x 1 dp workers x 1 grad accum = {}", config.batch_size, config.batch_size));
  log::info(with_big_number("num_learnable_params", count_elements(parameters, true)));
  log::info(with_big_number("num_total_params", count_elements(parameters, false)));
  log::info(fmt::format("Running on {}, mixed_precision={}", device::describe(run.device),
                        precision::to_string(run.precision)));
}

// LeRobot's meters in LeRobot's order; the policy's own outputs follow as they come.
metrics::MetricsTracker make_tracker(const TrainingRun& run) {
  metrics::MetricsTracker tracker({.batch_size = run.config.batch_size,
                                   .num_frames = run.dataset->num_frames(),
                                   .num_episodes = static_cast<int64_t>(run.dataset->episodes().size()),
                                   .initial_step = run.step});
  tracker.declare("loss", "loss", Format::kFixed3);
  tracker.declare("grad_norm", "grdn", Format::kFixed3);
  tracker.declare("lr", "lr", Format::kExponent1);
  tracker.declare("dataloading_s", "data_s", Format::kFixed3);
  tracker.declare("preprocessing_s", "prep_s", Format::kFixed3);
  tracker.declare("update_s", "updt_s", Format::kFixed3);
  tracker.declare("step_s", "step_s", Format::kFixed3);
  tracker.declare("samples_per_s", "smp/s", Format::kFixed0);
  if (device::peak_memory_gib(run.device)) tracker.declare("gpu_mem_gb", "mem_gb", Format::kFixed2);
  return tracker;
}

// Says what the device kept to itself since the last time: a warning, when updates were withheld.
void report_withheld_updates(NonFiniteMonitor& monitor) {
  const NonFiniteMonitor::Report report = monitor.take();
  if (report.count == 0) return;
  log::warning(fmt::format(
      "{} update{} left out because a gradient was infinite or NaN, the first at step {}; weights and optimizer state "
      "did not change there. If it goes on, lower the learning rate or look for broken frames in the dataset.",
      report.count, report.count == 1 ? " was" : "s were", report.first_step));
}

void record_step(metrics::MetricsTracker& tracker, const StepResult& result, double lr) {
  tracker.add("loss", result.loss);
  if (result.grad_norm) tracker.add("grad_norm", *result.grad_norm);
  tracker.add("lr", lr);
  for (const auto& [name, value] : result.metrics) tracker.add(name, value);
}

void log_window(metrics::MetricsTracker& tracker, std::optional<metrics::JsonlWriter>& jsonl, int64_t batch_size) {
  const double step_seconds = tracker.mean("step_s");
  if (step_seconds > 0) tracker.add("samples_per_s", static_cast<double>(batch_size) / step_seconds);
  log::info(tracker.line());
  if (jsonl) jsonl->write(tracker.record());
  tracker.reset();
}

}  // namespace

Registries registries(const policy::PolicyRegistry& policies) {
  Registries result;
  result.policies = policy_choices(policies);
  result.optimizers = optim::register_optimizers();
  result.schedulers = optim::register_schedulers();
  return result;
}

void train(config::ParsedCommand command, const policy::PolicyRegistry& policies, FileSystem& files) {
  TrainPipelineConfig& config = *command.config;
  for (const std::string& warning : command.warnings) log::warning(warning);
  const std::optional<checkpoint::TrainingState> saved = saved_state(config, command.typed);
  TrainingRun run = set_up(config, command.typed, policies);
  CheckpointKeeper checkpoints(files, run);
  const DataProgress progress = saved ? checkpoints.restore(*saved) : DataProgress{0, config.batch_size};
  log_banner(run);

  if (run.step < config.steps) {
    start_loading(run, progress);
    TrainStep train_step(
        *run.policy, *run.optimizer, run.scheduler.get(),
        {.grad_clip_norm = config.optimizer->grad_clip_norm, .precision = run.precision, .device = run.device});
    metrics::MetricsTracker tracker = make_tracker(run);
    std::optional<metrics::JsonlWriter> jsonl;  // as in LeRobot, a run that saves nothing leaves nothing behind
    if (config.save_checkpoint) jsonl.emplace(files, *config.output_dir / "metrics.jsonl");
    NonFiniteMonitor non_finite;
    metrics::ProgressBar bar("Training", config.steps - run.step);
    log::info(
        fmt::format("Start offline training on a fixed dataset, with effective batch size: {}", config.batch_size));

    while (run.step < config.steps) {
      Stopwatch step_watch;
      Stopwatch watch;
      Batch batch = run.loader->next();
      tracker.add("dataloading_s", watch.lap());
      batch = run.prepare(std::move(batch));
      tracker.add("preprocessing_s", watch.lap());

      device::reset_peak_memory(run.device);
      const StepResult result = train_step(batch);
      ++run.step;
      tracker.step();
      bar.advance();
      record_step(tracker, result, run.optimizer->lr(0));
      non_finite.record(result.found_inf, run.step);

      const bool is_log_step = config.log_freq > 0 && run.step % config.log_freq == 0;
      // Reading a value waits for the device; inside the watch, so that the window's times hold the device's work.
      if (is_log_step) tracker.mean("loss");
      tracker.add("update_s", watch.lap());
      tracker.add("step_s", step_watch.lap());
      if (const auto peak = device::peak_memory_gib(run.device)) tracker.add("gpu_mem_gb", *peak);

      if (is_log_step) {
        report_withheld_updates(non_finite);
        log_window(tracker, jsonl, config.batch_size);
      }
      if (checkpoints.is_due()) {
        report_withheld_updates(non_finite);
        checkpoints.save();
      }
    }
  }
  log::info("End of training");
}

}  // namespace lerobot::train
