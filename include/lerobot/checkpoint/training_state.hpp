// What training needs to go on, beside the weights: a checkpoint's training_state folder. Files of LeRobot 0.6.1 and of
// later ones are read; those written are read by both.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "lerobot/core/file_system.hpp"
#include "lerobot/core/json.hpp"
#include "lerobot/core/safetensors.hpp"
#include "lerobot/optim/ema.hpp"

namespace lerobot::checkpoint {

// How the run was spread over devices (LeRobot's `parallelism` section).
struct Parallelism {
  int64_t dp_replicate = 1;
  int64_t dp_shard = 1;
  int64_t ring_degree = 1;
  int64_t ulysses_degree = 1;
};

struct TrainingState {
  int64_t step = 0;  // batches drawn so far
  // Of the run that wrote the file: they give the place in the data. Absent in files of old LeRobots: take the current.
  std::optional<int64_t> dp_world_size;  // 0.6.1: num_processes
  std::optional<int64_t> batch_size;     // per process
  std::optional<int64_t> grad_accum_steps;
  std::optional<Parallelism> parallelism;

  TensorMap rng;                       // see rng_state.hpp
  TensorMap optimizer;                 // "state/<i>/exp_avg", ...; i runs over the groups' parameters
  Json param_groups;                   // list of objects, each with "params": [i, ...]
  std::optional<Json> scheduler;       // when the run has one
  std::optional<Json> scaler;          // when the run scales its loss (fp16)
  std::optional<optim::EmaState> ema;  // when the run averages its weights; read only for LoadOptions::needs_ema
  // "grad/<i>", i as in `optimizer`: the sum over an accumulation window that is not full yet. Empty: none. Ours alone;
  // LeRobot starts the window anew.
  TensorMap accumulated_gradients;
  // What LeRobot has no field for: an object, written to lerobot_cpp.json after "format_version". Absent in LeRobot's
  // own checkpoints.
  std::optional<Json> lerobot_cpp;
};

// Writes the files into `directory`, which exists; each is synced. Throws RunError.
void write_training_state(FileSystem& files, const std::filesystem::path& directory, const TrainingState& state);

struct LoadOptions {
  bool needs_scheduler = false;  // the run has a scheduler: a missing scheduler_state.json is an error
  // The run averages its weights: ema_state.pt is read. When it is missing the average starts anew from the weights,
  // with a warning, as in LeRobot.
  bool needs_ema = false;
};

// Reads <step_directory>/training_state. Throws UsageError that names the missing or malformed file, what is wrong in
// it and the way out. The contents of optimizer, param_groups, scheduler, scaler, ema and
// accumulated_gradients are for their owners to check.
TrainingState load_training_state(const std::filesystem::path& step_directory, const LoadOptions& options = {});

// Just training_step.json, the rest left empty: what the sampler needs before anything else is built.
TrainingState load_training_step(const std::filesystem::path& step_directory);

}  // namespace lerobot::checkpoint
