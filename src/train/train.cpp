#include "lerobot/train/train.hpp"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <optional>

#include "lerobot/checkpoint/housekeeping.hpp"
#include "lerobot/config/checkpoint_layout.hpp"
#include "lerobot/core/describe_exception.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "lerobot/core/signals.hpp"
#include "lerobot/core/text.hpp"
#include "lerobot/device/memory.hpp"
#include "lerobot/metrics/jsonl.hpp"
#include "lerobot/metrics/metrics_tracker.hpp"
#include "lerobot/metrics/progress_bar.hpp"
#include "lerobot/optim/optimizer_configs.hpp"
#include "lerobot/optim/scheduler_configs.hpp"
#include "lerobot/precision/run_summary.hpp"
#include "lerobot/train/checkpointing.hpp"
#include "lerobot/train/env_evaluation.hpp"
#include "lerobot/train/held_out_loss.hpp"
#include "lerobot/train/non_finite_guard.hpp"
#include "lerobot/train/output_directory.hpp"
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
  auto state = checkpoint::load_training_state(
      *config.checkpoint_path,
      {.needs_scheduler = static_cast<bool>(config.scheduler), .needs_ema = config.ema.enable});
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

std::string describe_ema(const EmaConfig& ema) {
  const std::string decay =
      ema.decay ? fmt::format("decay={} (constant)", *ema.decay)
                : fmt::format("max_decay={}, inv_gamma={}, power={}", ema.max_decay, ema.inv_gamma, ema.power);
  return fmt::format("EMA of the weights: {}, update_after_step={}", decay, ema.update_after_step);
}

void log_banner(const TrainingRun& run) {
  const TrainPipelineConfig& config = run.config;
  const auto parameters = run.policy->parameters();
  log::info(fmt::format("Output dir: {}", config.output_dir->string()));
  log::info(with_big_number("cfg.steps", config.steps));
  log::info(with_big_number("dataset.num_frames", run.dataset->num_frames()));
  log::info(fmt::format("dataset.num_episodes={}", run.dataset->episodes().size()));
  const int64_t grad_accum = config.accelerator.gradient_accumulation.steps;
  log::info(fmt::format("Effective batch size: {} x 1 dp workers x {} grad accum = {}", config.batch_size, grad_accum,
                        config.batch_size * grad_accum));
  if (run.ema) log::info(describe_ema(config.ema));
  log::info(with_big_number("num_learnable_params", count_elements(parameters, true)));
  log::info(with_big_number("num_total_params", count_elements(parameters, false)));
  log::info(precision::run_summary(run.device, run.precision, run.scaler.get(), config.tf32));
}

// LeRobot's meters in LeRobot's order; the policy's own outputs follow as they come.
metrics::MetricsTracker make_tracker(const TrainingRun& run) {
  metrics::MetricsTracker tracker({.batch_size = run.config.batch_size,
                                   .num_frames = run.dataset->num_frames(),
                                   .num_episodes = static_cast<int64_t>(run.dataset->episodes().size()),
                                   .initial_step = run.step});
  tracker.declare("loss", "loss", Format::kFixed3);
  // In fp16 an infinite norm belongs to an update that was skipped.
  tracker.declare("grad_norm", "grdn", Format::kFixed3,
                  run.scaler ? metrics::AverageMeter::Counts::kFiniteOnly : metrics::AverageMeter::Counts::kAll);
  tracker.declare("lr", "lr", Format::kExponent1);
  tracker.declare("dataloading_s", "data_s", Format::kFixed3);
  tracker.declare("preprocessing_s", "prep_s", Format::kFixed3);
  tracker.declare("update_s", "updt_s", Format::kFixed3);
  tracker.declare("step_s", "step_s", Format::kFixed3);
  tracker.declare("samples_per_s", "smp/s", Format::kFixed0);
  if (run.scaler) tracker.declare("grad_scale", "scale", Format::kFixed0);
  if (device::peak_memory_gib(run.device)) tracker.declare("gpu_mem_gb", "mem_gb", Format::kFixed2);
  return tracker;
}

void record_step(metrics::MetricsTracker& tracker, const StepResult& result, double lr) {
  tracker.add("loss", result.loss);
  if (result.grad_norm) tracker.add("grad_norm", *result.grad_norm);
  if (result.grad_scale) tracker.add("grad_scale", *result.grad_scale);
  tracker.add("lr", lr);
  for (const auto& [name, value] : result.metrics) tracker.add(name, value);
}

// A record that cannot be written (the disk is full) does not end the run.
void write_record(std::optional<metrics::JsonlWriter>& jsonl, const Json& record) {
  if (!jsonl) return;
  try {
    jsonl->write(record);
  } catch (const FileSystemError& error) {
    log::error(
        fmt::format("A record of step {} is lost: {}. Training goes on", record["step"].get<int64_t>(), error.what()));
  }
}

void log_window(metrics::MetricsTracker& tracker, std::optional<metrics::JsonlWriter>& jsonl, int64_t batch_size,
                int64_t withheld_updates) {
  const double step_seconds = tracker.mean("step_s");
  if (step_seconds > 0) tracker.add("samples_per_s", static_cast<double>(batch_size) / step_seconds);
  log::info(tracker.line());
  Json record = tracker.record();
  record["withheld_updates"] = withheld_updates;
  write_record(jsonl, record);
  tracker.reset();
}

// As in LeRobot, a run that saves nothing leaves nothing behind.
std::optional<metrics::JsonlWriter> open_metrics(FileSystem& files, const TrainingRun& run) {
  if (!run.config.save_checkpoint) return std::nullopt;
  const std::filesystem::path path = *run.config.output_dir / "metrics.jsonl";
  metrics::drop_records_after(files, path, run.step);
  return std::optional<metrics::JsonlWriter>(std::in_place, files, path);
}

// A measurement that fails (a damaged frame, no memory) does not end the run.
void measure_held_out_loss(HeldOutLoss& held_out, const TrainingRun& run, std::optional<metrics::JsonlWriter>& jsonl) {
  std::optional<double> loss;
  try {
    loss = held_out.measure();
  } catch (const std::exception&) {
    log::error(fmt::format("The held-out loss at step {} could not be measured: {}. Training goes on", run.step,
                           describe(std::current_exception())));
  }
  if (!loss) return;
  log::info(fmt::format("step {}: eval_loss={:.4f}", run.step, *loss));
  write_record(jsonl, {{"step", run.step}, {"eval_loss", *loss}});
}

std::string how_to_go_on(const TrainPipelineConfig& config) {
  return fmt::format("lerobot-train --resume=true --config_path={}", config.output_dir->string());
}

// A batch could not be loaded. Between two steps nothing of what has been learnt is in doubt, so it is saved.
[[noreturn]] void stop_without_data(const std::exception_ptr& error, const TrainingRun& run,
                                    CheckpointKeeper& checkpoints) {
  if (run.step == run.first_step) std::rethrow_exception(error);  // nothing has been learnt yet
  const std::string reason = describe(error);
  const std::string where = fmt::format("{}\nThis is a batch of step {}", reason, run.step + 1);
  if (!run.config.save_checkpoint) throw RunError(where);
  try {
    if (!checkpoints.is_saved()) checkpoints.save();
    checkpoints.finish();
  } catch (const std::exception&) {
    throw RunError(fmt::format("{}; moreover, {}", where, describe(std::current_exception())));
  }
  throw RunError(fmt::format("{}; what was learnt before is saved. To go on when the data can be read: {}", where,
                             how_to_go_on(run.config)));
}

Batch next_batch(TrainingRun& run, CheckpointKeeper& checkpoints) {
  std::exception_ptr failure;
  try {
    Batch batch = run.loader->next();
    run.data_position = run.loader->current_plan().next;
    return batch;
  } catch (const std::exception&) {
    failure = std::current_exception();
  }
  stop_without_data(failure, run, checkpoints);
}

// The run was asked to stop between two steps: saves, and says how to go on.
[[noreturn]] void stop(int signal, const TrainingRun& run, CheckpointKeeper& checkpoints) {
  const TrainPipelineConfig& config = run.config;
  if (run.step == run.first_step) signals::throw_if_stop_requested(kBeforeTheFirstStep);
  if (!config.save_checkpoint) {
    throw signals::Stopped(signal,
                           fmt::format("stopped by {} after step {}; nothing was saved (--save_checkpoint=false)",
                                       signals::name(signal), run.step));
  }
  if (!checkpoints.is_saved()) checkpoints.save();
  checkpoints.finish();
  throw signals::Stopped(signal, fmt::format("stopped by {} after step {}, which is saved. To go on: {}",
                                             signals::name(signal), run.step, how_to_go_on(config)));
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
  if (config.save_checkpoint) require_writable(*config.output_dir);
  OutputDirectory output_directory(files, *config.output_dir);
  std::optional<checkpoint::TrainingState> saved = saved_state(config, command.typed);
  TrainingRun run = set_up(config, command.typed, policies);
  CheckpointKeeper checkpoints(files, run);
  const DataProgress progress = saved ? checkpoints.restore(*saved) : DataProgress{0, config.batch_size};
  saved.reset();  // twice the weights' memory and more, and all of it is copied by now
  for (const std::string& found : checkpoint::remove_leftovers(files, *config.output_dir)) log::warning(found);
  log_banner(run);
  if (run.step >= config.steps) {
    log::info(fmt::format("Nothing left to do: step {} is done, and --steps={}", run.step, config.steps));
    log::info("End of training");
    return;
  }

  start_loading(run, progress);
  metrics::MetricsTracker tracker = make_tracker(run);
  std::optional<metrics::JsonlWriter> jsonl = open_metrics(files, run);
  NonFiniteGuard non_finite(run);
  std::optional<HeldOutLoss> held_out;
  if (run.eval_dataset) held_out.emplace(run);
  std::optional<EnvEvaluation> env_evaluation;
  if (config.env && config.env_eval_freq > 0) {
    env_evaluation.emplace(files, run);
    env_evaluation->try_out();
  }
  if (config.save_checkpoint) output_directory.make();
  metrics::ProgressBar bar("Training", config.steps - run.step);
  log::info(fmt::format("Start offline training on a fixed dataset, with effective batch size: {}",
                        config.batch_size * config.accelerator.gradient_accumulation.steps));

  while (run.step < config.steps && !signals::stop_requested()) {
    Stopwatch step_watch;
    Stopwatch watch;
    Batch batch = next_batch(run, checkpoints);
    tracker.add("dataloading_s", watch.lap());
    batch = run.prepare(std::move(batch));
    tracker.add("preprocessing_s", watch.lap());

    device::reset_peak_memory(run.device);
    const StepResult result = (*run.train_step)(batch);
    ++run.step;
    if (result.found_inf) {
      non_finite.record(*result.found_inf);
      if (run.ema) run.ema->update(*result.found_inf);
    }
    tracker.step();
    bar.advance();
    record_step(tracker, result, run.optimizer->lr(0));

    const bool is_log_step = config.log_freq > 0 && run.step % config.log_freq == 0;
    // Reading a value waits for the device; inside the watch, so that the window's times hold the device's work.
    if (is_log_step) tracker.mean("loss");
    tracker.add("update_s", watch.lap());
    tracker.add("step_s", step_watch.lap());
    if (const auto peak = device::peak_memory_gib(run.device)) tracker.add("gpu_mem_gb", *peak);

    const bool is_save_step = checkpoints.take_request() || checkpoints.is_due();
    if (is_log_step || is_save_step || non_finite.is_check_due()) non_finite.check();
    if (is_log_step) log_window(tracker, jsonl, config.batch_size, non_finite.take_count());
    non_finite.require_progress();
    if (held_out && held_out->is_due()) {
      measure_held_out_loss(*held_out, run, jsonl);
    }
    checkpoints.check();
    if (is_save_step) checkpoints.save();
    if (env_evaluation && env_evaluation->is_due()) {
      if (const std::optional<Json> record = env_evaluation->run_now()) write_record(jsonl, *record);
    }
  }
  if (const auto signal = signals::stop_requested()) stop(*signal, run, checkpoints);
  checkpoints.finish();
  log::info("End of training");
}

}  // namespace lerobot::train
