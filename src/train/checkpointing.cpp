#include "lerobot/train/checkpointing.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/version.h>

#include "lerobot/checkpoint/layout.hpp"
#include "lerobot/checkpoint/rng_state.hpp"
#include "lerobot/core/log.hpp"

namespace lerobot::train {
namespace {

constexpr uint64_t kSeedWithoutSeed =
    0;  // of Python's and numpy's states when --seed=null; nothing here draws from them

// What LeRobot's files have no place for. The settings in it come back on resume; the versions are for people.
Json own_state(const TrainPipelineConfig& config) {
  Json state = to_own_json(config);
  state["libtorch_version"] = TORCH_VERSION;
  state["num_threads"] = at::get_num_threads();
  return state;
}

void warn_if_changed(std::string_view name, int64_t saved, int64_t current, std::string_view consequence) {
  if (saved == current) return;
  log::warning(fmt::format("Resuming with {}={}, but the checkpoint was written with {}={}: {}", name, current, name,
                           saved, consequence));
}

}  // namespace

CheckpointKeeper::CheckpointKeeper(FileSystem& files, TrainingRun& run) : files_(files), run_(run) {
  const auto seed = run.config.seed ? static_cast<uint64_t>(*run.config.seed) : kSeedWithoutSeed;
  rng_ = checkpoint::initial_rng_state(seed);
}

DataProgress CheckpointKeeper::restore(const checkpoint::TrainingState& state) {
  const auto directory = *run_.config.checkpoint_path / checkpoint::kTrainingStateDirectory;
  const auto source = [&](const char* name) { return (directory / name).string(); };
  run_.optimizer->load_param_groups(state.param_groups, source("optimizer_param_groups.json"));
  run_.optimizer->load_state_tensors(state.optimizer, source("optimizer_state.safetensors"));
  if (run_.scheduler) run_.scheduler->load_state_dict(*state.scheduler, source("scheduler_state.json"));
  checkpoint::restore_rng_state(state.rng, run_.device, source("rng_state.safetensors"));
  rng_ = state.rng;
  run_.step = state.step;

  const int64_t batch_size = state.batch_size.value_or(run_.config.batch_size);
  warn_if_changed("batch_size", batch_size, run_.config.batch_size,
                  "the data order goes on at the right epoch and place, but batches hold other samples");
  // Absent in LeRobot's own checkpoints.
  const Json saved_threads = state.lerobot_cpp ? state.lerobot_cpp->value("num_threads", Json()) : Json();
  if (saved_threads.is_number_integer()) {
    warn_if_changed("threads", saved_threads.get<int64_t>(), at::get_num_threads(),
                    "sums are rounded differently, so results differ in their last digits");
  }
  return {.step = state.step, .batch_size = batch_size};
}

bool CheckpointKeeper::is_due() const {
  const TrainPipelineConfig& config = run_.config;
  if (!config.save_checkpoint) return false;
  return run_.step == config.steps || (config.save_freq > 0 && run_.step % config.save_freq == 0);
}

void CheckpointKeeper::save() {
  log::info(fmt::format("Checkpoint policy after step {}", run_.step));
  const auto directory = checkpoint::save_checkpoint(files_, *run_.config.output_dir, run_.config.steps, content());
  log::info(fmt::format("Model weights successfully saved to {}",
                        (directory / checkpoint::kPretrainedModelDirectory).string()));
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
      .scaler = std::nullopt,
      .lerobot_cpp = own_state(config)};
  return {.policy_config = to_policy_config_json(*config.policy),
          .train_config = to_train_config_json(config),
          .weights = policy::state_dict(*run_.policy),
          .write_processors = [processors = run_.processors.get()](
                                  FileSystem& files,
                                  const std::filesystem::path& directory) { processors->save(files, directory); },
          .training_state = std::move(state)};
}

}  // namespace lerobot::train
