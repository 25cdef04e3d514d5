#include "lerobot/train/checkpointing.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "lerobot/checkpoint/rng_state.hpp"
#include "lerobot/config/checkpoint_layout.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "lerobot/core/signals.hpp"

namespace lerobot::train {
namespace {

constexpr int kLastSaveAttempts = 7;
constexpr std::chrono::seconds kRetryPause(10);

constexpr uint64_t kSeedWithoutSeed =
    0;  // of Python's and numpy's states when --seed=null; nothing here draws from them

constexpr const char* kAccumulatedSteps = "accumulated_steps";  // batches in the accumulation window that is open
constexpr const char* kDataPosition = "data_position";          // "epoch", and the "sample" in it that comes next

// What LeRobot's files have no place for. The settings in it come back on resume; the versions are for people.
Json own_state(const TrainingRun& run) {
  Json state = to_own_json(run.config);
  state[kAccumulatedSteps] = run.train_step->accumulated_steps();
  state[kDataPosition] = {{"epoch", run.data_position.epoch}, {"sample", run.data_position.position}};
  state["libtorch_version"] = TORCH_VERSION;
  state["num_threads"] = at::get_num_threads();
  return state;
}

void warn_if_changed(std::string_view name, int64_t saved, int64_t current, std::string_view consequence) {
  if (saved == current) return;
  log::warning(fmt::format("Resuming with {}={}, but the checkpoint was written with {}={}: {}", name, current, name,
                           saved, consequence));
}

// An integer of lerobot_cpp.json; absent in LeRobot's own checkpoints.
std::optional<int64_t> own_integer(const checkpoint::TrainingState& state, const char* key) {
  const Json value = state.lerobot_cpp ? state.lerobot_cpp->value(key, Json()) : Json();
  return value.is_number_integer() ? std::optional(value.get<int64_t>()) : std::nullopt;
}

// After a step back checkpoints of later steps may lie in the way.
void warn_of_later_checkpoints(const TrainPipelineConfig& config, int64_t step) {
  if (!config.save_total_limit) return;
  const auto all = checkpoint::step_directories(*config.output_dir / checkpoint::kCheckpointsDirectory);
  const auto later = std::ranges::count_if(all, [&](const std::filesystem::path& path) {
    return checkpoint::step_of(path.filename().string()).value_or(0) > step;
  });
  if (later == 0) return;
  log::warning(
      fmt::format("{} already holds {} checkpoint{} of later steps than {}. --save_total_limit={} keeps the highest "
                  "steps, so these count first: move them away, or save elsewhere with --output_dir",
                  config.output_dir->string(), later, later == 1 ? "" : "s", step, *config.save_total_limit));
}

std::optional<dataset::DataPosition> recorded_position(const checkpoint::TrainingState& state,
                                                       const std::filesystem::path& directory) {
  if (!state.lerobot_cpp || !state.lerobot_cpp->contains(kDataPosition)) return std::nullopt;
  const Json& position = state.lerobot_cpp->at(kDataPosition);
  const auto count = [&](const char* key) {
    const Json value = position.is_object() ? position.value(key, Json()) : Json();
    if (value.is_number_integer() && value.get<int64_t>() >= 0) return value.get<int64_t>();
    throw UsageError(fmt::format("{}/lerobot_cpp.json: {}.{} must be a number from 0 up, got {}", directory.string(),
                                 kDataPosition, key, to_python_json(value, {.indent = -1})));
  };
  return dataset::DataPosition{.epoch = count("epoch"), .position = count("sample")};
}

// The policy's weights with the averaged ones in place of the trained ones.
TensorMap averaged_weights(const policy::Policy& policy, const optim::ExponentialMovingAverage& ema) {
  TensorMap weights = policy::state_dict(policy);
  size_t i = 0;
  for (const auto& parameter : policy.named_parameters()) weights[parameter.key()] = ema.shadow_params().at(i++);
  return weights;
}

}  // namespace

CheckpointKeeper::CheckpointKeeper(FileSystem& files, TrainingRun& run)
    : run_(run),
      writer_(files, {.output_dir = *run.config.output_dir,
                      .total_steps = run.config.steps,
                      .save_total_limit = run.config.save_total_limit,
                      .async = run.config.async_save}) {
  const auto seed = run.config.seed ? static_cast<uint64_t>(*run.config.seed) : kSeedWithoutSeed;
  rng_ = checkpoint::initial_rng_state(seed);
}

DataProgress CheckpointKeeper::restore(const checkpoint::TrainingState& state) {
  const TrainPipelineConfig& config = run_.config;
  const auto directory = *config.checkpoint_path / checkpoint::kTrainingStateDirectory;
  const auto source = [&](const char* name) { return (directory / name).string(); };
  run_.optimizer->load_param_groups(state.param_groups, source("optimizer_param_groups.json"));
  run_.optimizer->load_state_tensors(state.optimizer, source("optimizer_state.safetensors"));
  if (run_.scheduler) run_.scheduler->load_state_dict(*state.scheduler, source("scheduler_state.json"));
  if (run_.ema && state.ema) run_.ema->load_state(*state.ema, source("ema_state.pt"));
  if (run_.scaler && state.scaler) {
    run_.scaler->load_state_dict(*state.scaler, source("scaler_state.json"));
  } else if (run_.scaler) {
    log::warning(fmt::format("Resuming in fp16, but there is no {}: the loss scale starts at {}",
                             source("scaler_state.json"), run_.scaler->get_scale()));
  }
  restore_window(state, source("accumulated_gradients.safetensors"));
  checkpoint::restore_rng_state(state.rng, run_.device, source("rng_state.safetensors"));
  rng_ = state.rng;
  run_.step = run_.first_step = state.step;
  warn_of_later_checkpoints(config, state.step);

  const int64_t batch_size = state.batch_size.value_or(config.batch_size);
  const int64_t world_size = state.dp_world_size.value_or(1);
  constexpr const char* kOtherBatches =
      "the data order goes on at the right epoch and place, but batches hold other samples";
  warn_if_changed("batch_size", batch_size, config.batch_size, kOtherBatches);
  warn_if_changed("dp_world_size", world_size, 1, kOtherBatches);
  if (const auto threads = own_integer(state, "num_threads")) {
    warn_if_changed("threads", *threads, at::get_num_threads(),
                    "sums are rounded differently, so results differ in their last digits");
  }
  return {.step = state.step,
          .batch_size = batch_size,
          .dp_world_size = world_size,
          .position = recorded_position(state, directory)};
}

// LeRobot drops an open window on resume; ours goes on, unless its sum cannot be gone on with.
void CheckpointKeeper::restore_window(const checkpoint::TrainingState& state, std::string_view source) {
  const int64_t length = run_.config.accelerator.gradient_accumulation.steps;
  const int64_t saved_length = state.grad_accum_steps.value_or(length);
  const int64_t accumulated = own_integer(state, kAccumulatedSteps).value_or(0);
  warn_if_changed("accelerator.gradient_accumulation.steps", saved_length, length,
                  "an update takes another number of batches from here on");
  if (accumulated == 0) return;
  if (accumulated < 0 || accumulated >= saved_length) {
    throw UsageError(fmt::format("{}/lerobot_cpp.json: {} must be between 0 and {}, got {}",
                                 std::filesystem::path(source).parent_path().string(), kAccumulatedSteps,
                                 saved_length - 1, accumulated));
  }
  const bool is_scaled_alike = state.scaler.has_value() == (run_.scaler != nullptr);
  if (length != saved_length || !is_scaled_alike) {
    log::warning(fmt::format(
        "The checkpoint stands inside an accumulation window: its {} batch{} dropped, since the {} changed, and a new "
        "window starts",
        accumulated, accumulated == 1 ? " is" : "es are", is_scaled_alike ? "windows' length" : "loss scaling"));
    return;
  }
  run_.train_step->resume_window(accumulated, state.accumulated_gradients, source);
}

bool CheckpointKeeper::is_due() const {
  const TrainPipelineConfig& config = run_.config;
  if (!config.save_checkpoint) return false;
  return run_.step == config.steps || (config.save_freq > 0 && run_.step % config.save_freq == 0);
}

bool CheckpointKeeper::take_request() const {
  if (!signals::take_save_request()) return false;
  if (!run_.config.save_checkpoint) log::warning("SIGUSR1: nothing is saved with --save_checkpoint=false");
  return run_.config.save_checkpoint;
}

void CheckpointKeeper::save() {
  writer_.finish();
  check();
  log::info(fmt::format("Checkpoint policy after step {}", run_.step));
  saved_step_ = run_.step;
  writer_.save(content());
}

void CheckpointKeeper::check() {
  const std::optional<std::string> failure = writer_.take_failure();
  if (!failure) return;
  saved_step_ = -1;
  log::error(fmt::format("{}. The next save tries again; to save at once: kill -USR1 {}", *failure, ::getpid()));
}

void CheckpointKeeper::finish() {
  for (int attempt = 1;; ++attempt) {
    writer_.finish();
    const std::optional<std::string> failure = writer_.take_failure();
    if (!failure) return;
    if (attempt == kLastSaveAttempts) throw RunError(*failure);
    log::error(fmt::format("{}. It is tried again in {} s (attempt {} of {})", *failure, kRetryPause.count(),
                           attempt + 1, kLastSaveAttempts));
    std::this_thread::sleep_for(kRetryPause);
    writer_.save(content());
  }
}

checkpoint::CheckpointContent CheckpointKeeper::content() const {
  const TrainPipelineConfig& config = run_.config;
  checkpoint::TrainingState state{
      .step = run_.step,
      .dp_world_size = 1,
      .batch_size = config.batch_size,
      .grad_accum_steps = config.accelerator.gradient_accumulation.steps,
      .parallelism = checkpoint::Parallelism{},
      .rng = checkpoint::capture_rng_state(rng_, run_.device),
      .optimizer = run_.optimizer->state_tensors(),
      .param_groups = run_.optimizer->param_groups_json(),
      .scheduler = run_.scheduler ? std::optional<Json>(run_.scheduler->state_dict()) : std::nullopt,
      .scaler = run_.scaler ? std::optional<Json>(run_.scaler->state_dict()) : std::nullopt,
      .ema = run_.ema ? std::optional(run_.ema->state()) : std::nullopt,
      .accumulated_gradients = run_.train_step->accumulated_gradients(),
      .lerobot_cpp = own_state(run_)};
  checkpoint::CheckpointContent content{
      .policy_config = to_policy_config_json(*config.policy),
      .train_config = to_train_config_json(config),
      .weights = policy::state_dict(*run_.policy),
      .write_processors = [processors = run_.processors.get()](
                              FileSystem& files,
                              const std::filesystem::path& directory) { processors->save(files, directory); },
      .training_state = std::move(state)};
  if (run_.ema) content.ema = checkpoint::EmaContent{averaged_weights(*run_.policy, *run_.ema)};
  return content;
}

}  // namespace lerobot::train
