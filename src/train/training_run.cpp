#include "lerobot/train/training_run.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "lerobot/checkpoint/checkpoint.hpp"
#include "lerobot/checkpoint/layout.hpp"
#include "lerobot/core/log.hpp"
#include "lerobot/core/text.hpp"
#include "lerobot/dataset/batch_transfer.hpp"
#include "lerobot/dataset/delta_timestamps.hpp"
#include "lerobot/dataset/metadata.hpp"
#include "lerobot/device/device.hpp"
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

std::vector<std::string> feature_names(const PolicyConfig& policy) {
  std::vector<std::string> names;
  for (const auto& [name, feature] : *policy.input_features) names.push_back(name);
  for (const auto& [name, feature] : *policy.output_features) names.push_back(name);
  return names;
}

void open_dataset(TrainingRun& run, std::shared_ptr<const dataset::Metadata> metadata) {
  const TrainPipelineConfig& config = run.config;
  dataset::DatasetOptions options;
  options.episodes = dataset::choose_episodes(*metadata, config.dataset.episodes,
                                              config.dataset.exclude_episodes.value_or(std::vector<int64_t>{}));
  options.delta_indices = dataset::resolve_delta_indices(metadata->info, *config.policy, config.tolerance_s);
  options.features = feature_names(*config.policy);
  options.tolerance_s = config.tolerance_s;
  options.pin_memory = run.device.is_cuda() || run.device.is_xpu();
  run.dataset = std::make_shared<const dataset::LeRobotDataset>(std::move(metadata), std::move(options));
}

void load_weights(policy::Policy& policy, const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / checkpoint::kWeightsFile;
  log::info(fmt::format("Loading weights from {}", file.string()));
  const policy::LoadReport report = policy::load_state_dict(policy, checkpoint::load_weights(directory));
  if (!report.missing.empty()) {
    log::warning(fmt::format("{} has no {}: kept at their initial values", file.string(), join(report.missing, ", ")));
  }
  if (!report.unexpected.empty()) {
    log::warning(fmt::format("{}: the policy has no {}: ignored", file.string(), join(report.unexpected, ", ")));
  }
}

void make_policy(TrainingRun& run, const policy::PolicyRegistry& policies) {
  run.policy = policy::make_policy(policies, run.config.policy->clone());
  if (run.config.policy->pretrained_path) load_weights(*run.policy, *run.config.policy->pretrained_path);
  run.policy->to(run.device);
}

// A new policy and a fine-tuned one are normalised with the dataset's statistics, a resumed one with the checkpoint's.
void make_processors(TrainingRun& run) {
  const PolicyConfig& policy = *run.config.policy;
  processor::ProcessorConfig config = processor::processor_config(policy, run.device);
  const FeatureStats& stats = *run.dataset->metadata().stats;
  if (!policy.pretrained_path) {
    run.processors = std::make_unique<processor::PolicyProcessors>(std::move(config), stats);
    return;
  }
  processor::ProcessorOverrides overrides{.device = config.device,
                                          .input_features = config.input_features,
                                          .output_features = config.output_features,
                                          .norm_map = config.norm_map,
                                          .rename_map = config.rename_map,
                                          .stats = std::nullopt};
  if (!run.config.resume) overrides.stats = stats;
  run.processors = std::make_unique<processor::PolicyProcessors>(
      processor::PolicyProcessors::load(*policy.pretrained_path, overrides));
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
  fit_features(*config.policy, metadata->info);
  open_dataset(run, std::move(metadata));
  log::info("Creating policy");
  make_policy(run, policies);
  make_processors(run);
  log::info("Creating optimizer and scheduler");
  make_optimizer(run);
  return run;
}

void start_loading(TrainingRun& run, const DataProgress& progress) {
  const TrainPipelineConfig& config = run.config;
  dataset::EpisodeAwareSampler sampler(run.dataset->episodes(),
                                       {.drop_n_last_frames = config.policy->drop_n_last_frames(),
                                        .seed = static_cast<uint64_t>(config.seed.value_or(0))});
  const dataset::DataPosition position =
      dataset::position_after(progress.step, sampler.size(), dataset::BatchLayout{.batch_size = progress.batch_size});
  if (progress.step > 0) {
    log::info(fmt::format("Resuming data order at epoch {}, sample {}", position.epoch, position.position));
  }
  dataset::BatchCursor cursor(std::move(sampler), dataset::BatchLayout{.batch_size = config.batch_size}, position);
  run.loader = std::make_unique<dataset::DataLoader>(
      std::move(cursor), [dataset = run.dataset](const dataset::BatchPlan& plan) { return dataset->get(plan.rows); },
      dataset::LoaderOptions{.num_workers = config.num_workers, .prefetch_factor = config.prefetch_factor});
}

Batch TrainingRun::prepare(Batch batch) {
  return processors->preprocess(dataset::batch_to_device(std::move(batch), device));
}

}  // namespace lerobot::train
