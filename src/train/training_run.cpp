#include "lerobot/train/training_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>

#include "lerobot/checkpoint/policy_weights.hpp"
#include "lerobot/config/checkpoint_layout.hpp"
#include "lerobot/config/pretrained.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "lerobot/core/signals.hpp"
#include "lerobot/core/text.hpp"
#include "lerobot/dataset/batch_transfer.hpp"
#include "lerobot/dataset/delta_timestamps.hpp"
#include "lerobot/dataset/image_transforms.hpp"
#include "lerobot/dataset/metadata.hpp"
#include "lerobot/device/device.hpp"
#include "lerobot/device/memory.hpp"
#include "lerobot/precision/tf32.hpp"
#include "lerobot/train/policy_features.hpp"

namespace lerobot::train {
namespace {

void choose_device(TrainingRun& run, const std::set<std::string>& typed) {
  PolicyConfig& policy = *run.config.policy;
  std::vector<std::string> warnings;
  run.device = device::resolve_device(policy.device, typed.contains("policy.device"), device::query(), warnings);
  for (const std::string& warning : warnings) log::warning(warning);
  policy.device = device::device_to_record(policy.device, run.device);
  run.precision = precision::resolve_precision(run.config.accelerator.mixed_precision, run.device);
}

void set_global_state(const TrainPipelineConfig& config) {
  if (config.seed) device::seed_everything(static_cast<uint64_t>(*config.seed));
  device::set_cudnn_deterministic(config.cudnn_deterministic);
  precision::set_tf32(config.tf32);
}

std::shared_ptr<const dataset::Metadata> open_metadata(const DatasetConfig& config) {
  dataset::Metadata metadata = dataset::load_metadata(
      dataset::DatasetLocation{.repo_id = config.repo_id, .root = config.root, .revision = config.revision},
      config.depth_output_unit);
  dataset::required_stats(metadata);
  if (config.use_imagenet_stats) {
    dataset::apply_imagenet_stats(*metadata.stats, metadata.info);
  } else {
    dataset::warn_about_camera_stats(*metadata.stats, metadata.info);
  }
  return std::make_shared<const dataset::Metadata>(std::move(metadata));
}

// Of the sample order and of augmentation; LeRobot's sampler takes a null seed for 0.
uint64_t sampling_seed(const TrainPipelineConfig& config) {
  return static_cast<uint64_t>(config.seed.value_or(0));
}

// Every task keeps an episode to train on, or there is no split: LeRobot would leave such a task out of training.
dataset::EpisodeSplit split_for_evaluation(const dataset::Metadata& metadata, const std::vector<int64_t>& episodes,
                                           double fraction) {
  dataset::EpisodeSplit split = dataset::split_episodes(metadata, episodes, fraction);
  const auto task_of = [&](int64_t episode) {
    const auto& tasks = metadata.episodes.at(episode).tasks;
    return tasks.empty() ? std::string() : tasks.front();
  };
  std::set<std::string> trained;
  for (const int64_t episode : split.train) trained.insert(task_of(episode));
  for (const int64_t episode : split.eval) {
    if (trained.contains(task_of(episode))) continue;
    throw UsageError(
        fmt::format("--dataset.eval_split: {} keeps back every episode of the task '{}', so that it could not be "
                    "learned; choose a smaller part, or leave those episodes out with --dataset.exclude_episodes",
                    fraction, task_of(episode)));
  }
  log::info(fmt::format("Train/eval split: {} train, {} eval (eval_split={}, {} task{})", split.train.size(),
                        split.eval.size(), fraction, trained.size(), trained.size() == 1 ? "" : "s"));
  return split;
}

void open_dataset(TrainingRun& run, std::shared_ptr<const dataset::Metadata> metadata) {
  const TrainPipelineConfig& config = run.config;
  std::vector<int64_t> episodes = dataset::choose_episodes(
      *metadata, config.dataset.episodes, config.dataset.exclude_episodes.value_or(std::vector<int64_t>{}));
  dataset::DatasetOptions options;
  options.delta_indices =
      dataset::resolve_delta_indices(metadata->info, *config.policy, config.tolerance_s, config.rename_map);
  options.features = dataset_names(*config.policy, metadata->info, config.rename_map);
  options.tolerance_s = config.tolerance_s;
  options.pin_memory = device::has_page_locked_memory(run.device);
  if (config.dataset.eval_split > 0.0) {
    dataset::EpisodeSplit split = split_for_evaluation(*metadata, episodes, config.dataset.eval_split);
    options.episodes = std::move(split.eval);
    run.eval_dataset = std::make_shared<const dataset::LeRobotDataset>(metadata, options);
    episodes = std::move(split.train);
  }
  options.episodes = std::move(episodes);
  if (config.dataset.image_transforms.enable) {
    options.image_transforms =
        std::make_shared<const dataset::ImageTransforms>(config.dataset.image_transforms, sampling_seed(config));
  }
  run.dataset = std::make_shared<const dataset::LeRobotDataset>(std::move(metadata), std::move(options));
}

// The folder of a policy that has a pretrained_path: one that --policy.path named, or the checkpoint resumed from.
std::filesystem::path pretrained_folder(const PolicyConfig& policy) {
  return config::find_pretrained_folder(*policy.pretrained_path, policy.pretrained_revision, "policy.pretrained_path");
}

void make_policy(TrainingRun& run, const policy::PolicyRegistry& policies) {
  run.policy = policy::make_policy(policies, run.config.policy->clone());
  if (run.config.policy->pretrained_path)
    checkpoint::load_policy_weights(*run.policy, pretrained_folder(*run.config.policy));
  run.policy->to(run.device);
}

// A new policy and a fine-tuned one are normalised with the dataset's statistics, a resumed one with the checkpoint's.
void make_processors(TrainingRun& run) {
  const PolicyConfig& policy = *run.config.policy;
  processor::ProcessorConfig config = processor::processor_config(policy, run.device);
  config.rename_map = run.config.rename_map;
  const FeatureStats& stats = *run.dataset->metadata().stats;
  const auto make_new = [&] {
    run.processors = std::make_unique<processor::PolicyProcessors>(std::move(config), stats);
  };
  if (!policy.pretrained_path) return make_new();
  const std::filesystem::path folder = pretrained_folder(policy);
  if (!run.config.resume && !processor::has_processor_files(folder)) {
    log::warning(
        fmt::format("{} has no policy_preprocessor.json and policy_postprocessor.json, as is usual for LeRobot "
                    "before 0.4: they are made anew, with the dataset's statistics",
                    folder.string()));
    return make_new();
  }
  processor::ProcessorOverrides overrides{.device = config.device,
                                          .input_features = config.input_features,
                                          .output_features = config.output_features,
                                          .norm_map = config.norm_map,
                                          .rename_map = config.rename_map,
                                          .stats = std::nullopt};
  if (!run.config.resume) overrides.stats = stats;
  run.processors = std::make_unique<processor::PolicyProcessors>(processor::PolicyProcessors::load(folder, overrides));
}

std::vector<optim::ParamGroup> parameter_groups(const TrainingRun& run) {
  if (!run.config.use_policy_training_preset) return {{run.policy->parameters(), std::nullopt}};
  std::vector<optim::ParamGroup> groups;
  for (auto& group : run.policy->parameter_groups()) groups.push_back({std::move(group.parameters), group.lr});
  return groups;
}

void make_optimizer(TrainingRun& run) {
  const TrainPipelineConfig& config = run.config;
  run.optimizer = std::make_unique<optim::Optimizer>(*config.optimizer, parameter_groups(run));
  if (config.scheduler) {
    run.scheduler = std::make_unique<optim::Scheduler>(*config.scheduler, *run.optimizer, config.steps);
  }
}

void make_train_step(TrainingRun& run) {
  const TrainPipelineConfig& config = run.config;
  if (run.precision == precision::Precision::kFp16) {
    const GradScalerConfig& scaler = config.accelerator.grad_scaler;
    run.scaler = std::make_unique<precision::GradScaler>(
        precision::GradScalerOptions{.init_scale = scaler.init_scale,
                                     .growth_factor = scaler.growth_factor,
                                     .backoff_factor = scaler.backoff_factor,
                                     .growth_interval = scaler.growth_interval});
  }
  run.train_step =
      std::make_unique<TrainStep>(*run.policy, *run.optimizer, run.scheduler.get(),
                                  StepOptions{.grad_clip_norm = config.optimizer->grad_clip_norm,
                                              .precision = run.precision,
                                              .device = run.device,
                                              .accumulation_steps = config.accelerator.gradient_accumulation.steps,
                                              .scaler = run.scaler.get()});
  if (config.ema.enable) {
    run.ema = std::make_unique<optim::ExponentialMovingAverage>(config.ema, run.policy->parameters());
  }
}

}  // namespace

TrainingRun set_up(TrainPipelineConfig& config, const std::set<std::string>& typed,
                   const policy::PolicyRegistry& policies) {
  TrainingRun run(config);
  choose_device(run, typed);
  log::info(to_python_json(to_train_config_json(config)));
  log::info("Logs will be saved locally.");
  set_global_state(config);
  log::info("Creating dataset");
  auto metadata = open_metadata(config.dataset);
  fit_features(*config.policy, metadata->info, config.rename_map);
  open_dataset(run, std::move(metadata));
  signals::throw_if_stop_requested(kBeforeTheFirstStep);
  log::info("Creating policy");
  make_policy(run, policies);
  make_processors(run);
  log::info("Creating optimizer and scheduler");
  make_optimizer(run);
  make_train_step(run);
  signals::throw_if_stop_requested(kBeforeTheFirstStep);
  return run;
}

void start_loading(TrainingRun& run, const DataProgress& progress) {
  const TrainPipelineConfig& config = run.config;
  dataset::EpisodeAwareSampler sampler(
      run.dataset->episodes(),
      {.drop_n_last_frames = config.policy->drop_n_last_frames(), .seed = sampling_seed(config)});
  const dataset::DataPosition position = progress.position.value_or(dataset::position_after(
      progress.step, sampler.size(),
      dataset::BatchLayout{.batch_size = progress.batch_size, .world_size = progress.dp_world_size}));
  if (config.batch_size > sampler.size()) {
    log::warning(fmt::format("--batch_size={} is more than the {} frames there are: every batch is the whole dataset",
                             config.batch_size, sampler.size()));
  }
  if (progress.step > 0) {
    log::info(fmt::format("Resuming data order at epoch {}, sample {}", position.epoch, position.position));
  }
  run.data_position = position;
  run.data_order = [sampler = std::move(sampler), layout = dataset::BatchLayout{.batch_size = config.batch_size},
                    position] { return dataset::BatchCursor(sampler, layout, position); };
  const signals::BlockedInNewThreads blocked;
  run.loader = std::make_unique<dataset::DataLoader>(
      run.data_order(),
      [dataset = run.dataset](const dataset::BatchPlan& plan) { return dataset->get(plan.rows, plan.epoch); },
      dataset::LoaderOptions{.num_workers = config.num_workers, .prefetch_factor = config.prefetch_factor});
}

Batch TrainingRun::prepare(Batch batch) {
  return processors->preprocess(dataset::batch_to_device(std::move(batch), device));
}

std::vector<int64_t> TrainingRun::rows_of_steps(int64_t first, int64_t last) const {
  std::vector<int64_t> rows;
  dataset::BatchCursor cursor = data_order();
  for (int64_t at = first_step + 1; at <= last; ++at) {
    const dataset::BatchPlan plan = cursor.next();
    if (at >= first) rows.insert(rows.end(), plan.rows.begin(), plan.rows.end());
  }
  return rows;
}

}  // namespace lerobot::train
