// Everything that a training run owns, set up from its configuration.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lerobot/config/train_config.hpp"
#include "lerobot/dataset/dataset.hpp"
#include "lerobot/dataset/loader.hpp"
#include "lerobot/optim/ema.hpp"
#include "lerobot/optim/optimizer.hpp"
#include "lerobot/optim/scheduler.hpp"
#include "lerobot/policy/registry.hpp"
#include "lerobot/precision/precision.hpp"
#include "lerobot/processor/pipeline.hpp"
#include "lerobot/train/train_step.hpp"

namespace lerobot::train {

inline constexpr const char* kBeforeTheFirstStep = "before the first step: nothing was changed";

// Where the data order stands; of the checkpoint on resume.
struct DataProgress {
  int64_t step = 0;
  int64_t batch_size = 0;  // that `step` was counted with, as is the next
  int64_t dp_world_size = 1;
  std::optional<dataset::DataPosition> position;  // as recorded; without it LeRobot's rule finds it from the others
};

// Members are in the order of construction; later ones refer to earlier ones.
struct TrainingRun {
  explicit TrainingRun(TrainPipelineConfig& config) : config(config) {}

  TrainPipelineConfig& config;  // complete: features, device, optimizer and scheduler as they run
  torch::Device device = torch::kCPU;
  precision::Precision precision = precision::Precision::kNo;
  std::shared_ptr<const dataset::LeRobotDataset> dataset;
  std::shared_ptr<const dataset::LeRobotDataset> eval_dataset;  // null without --dataset.eval_split
  std::shared_ptr<policy::Policy> policy;
  std::unique_ptr<processor::PolicyProcessors> processors;
  std::unique_ptr<optim::Optimizer> optimizer;
  std::unique_ptr<optim::Scheduler> scheduler;    // null: constant learning rate
  std::unique_ptr<precision::GradScaler> scaler;  // null: not fp16
  std::unique_ptr<TrainStep> train_step;
  std::unique_ptr<optim::ExponentialMovingAverage> ema;  // null: not asked for
  std::unique_ptr<dataset::DataLoader> loader;
  std::function<dataset::BatchCursor()> data_order;  // of this run, from its first batch on
  int64_t first_step = 0;                            // steps done before this run: that of the checkpoint
  int64_t step = 0;                                  // steps done
  dataset::DataPosition data_position;               // after their batches

  // A batch of the loader's, on the device, as the policy takes it.
  Batch prepare(Batch batch);
  // The rows of the dataset that the batches of steps first..last of this run held. Counts through the data order.
  std::vector<int64_t> rows_of_steps(int64_t first, int64_t last) const;
};

// Chooses the device and the precision, seeds the generators, opens the dataset, makes (or loads) the policy and its
// processors, the optimizer and the scheduler. Logs LeRobot's header lines. `typed`: flags on the command line.
// The loader is left out: start_loading() makes it, once a resumed run knows where it stands.
TrainingRun set_up(TrainPipelineConfig& config, const std::set<std::string>& typed,
                   const policy::PolicyRegistry& policies);

// Starts the loader's threads at the place that `progress` says.
void start_loading(TrainingRun& run, const DataProgress& progress);

}  // namespace lerobot::train
