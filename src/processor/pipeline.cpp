#include "lerobot/processor/pipeline.hpp"

#include <c10/core/DeviceType.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/generated/variable_factories.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <map>
#include <utility>

#include "lerobot/config/policy_config.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/dataset/batch_transfer.hpp"
#include "processor_files.hpp"

namespace lerobot::processor {
namespace {

constexpr std::string_view kObservation = "observation.";
constexpr std::string_view kPad = "_is_pad";
constexpr std::string_view kPaddingMask = "_padding_mask";  // another suffix that LeRobot renames along

bool reaches_the_policy(const std::string& key) {
  return key.starts_with(kObservation) || key.find(kPad) != std::string::npos || key == "action" || key == "index" ||
         key == "task_index" || key == "episode_index" || key == "timestamp";
}

std::string renamed(const std::string& key, const RenameMap& map) {
  if (const std::string* to = map.find(key)) return *to;
  for (const std::string_view suffix : {kPad, kPaddingMask}) {
    if (!key.ends_with(suffix)) continue;
    if (const std::string* to = map.find(key.substr(0, key.size() - suffix.size()))) return *to + std::string(suffix);
  }
  return key;
}

[[noreturn]] void refuse_collision(const std::string& key) {
  throw UsageError(
      fmt::format("--rename_map gives two features of the dataset the name `{}`; rename the other one too, "
                  "or leave it out of the dataset",
                  key));
}

FeatureMap joined(const FeatureMap& inputs, const FeatureMap& outputs) {
  FeatureMap all = inputs;
  for (const auto& [key, feature] : outputs) all.set(key, feature);
  return all;
}

NormalizerConfig normalizer_config(const ProcessorConfig& config, const FeatureMap& features) {
  return {.features = features, .norm_map = config.norm_map, .eps = config.eps, .normalize_observation_keys = {}};
}

// LeRobot's names of the dtypes that a device step may cast to.
torch::ScalarType parse_float_dtype(const std::string& name) {
  static const std::map<std::string, torch::ScalarType> kDtypes = {
      {"float16", torch::kFloat16}, {"half", torch::kFloat16},  {"bfloat16", torch::kBFloat16},
      {"float32", torch::kFloat32}, {"float", torch::kFloat32}, {"float64", torch::kFloat64},
      {"double", torch::kFloat64},
  };
  const auto found = kDtypes.find(name);
  if (found == kDtypes.end()) {
    throw UsageError(
        fmt::format("float_dtype `{}` of the device processor is unknown; accepted are float16, half, "
                    "bfloat16, float32, float, float64, double",
                    name));
  }
  return found->second;
}

torch::Device parse_device(const std::string& name) {
  try {
    return torch::Device(name);
  } catch (const c10::Error&) {
    throw UsageError(fmt::format("device `{}` of the device processor is unknown", name));
  }
}

}  // namespace

ProcessorConfig processor_config(const PolicyConfig& policy, torch::Device device) {
  return {.input_features = policy.input_features.value_or(FeatureMap{}),
          .output_features = policy.output_features.value_or(FeatureMap{}),
          .norm_map = policy.normalization(),
          .rename_map = {},
          .device = device,
          .eps = 1e-8,
          .float_dtype = {}};
}

bool has_processor_files(const std::filesystem::path& directory) {
  return std::filesystem::exists(pipeline_path(directory, Direction::kPre)) ||
         std::filesystem::exists(pipeline_path(directory, Direction::kPost));
}

FeatureStats rename_stats(const FeatureStats& stats, const RenameMap& rename_map) {
  FeatureStats result;
  for (const auto& [key, values] : stats) {
    const std::string name = renamed(key, rename_map);
    if (!result.emplace(name, values).second) refuse_collision(name);
  }
  return result;
}

PolicyProcessors::PolicyProcessors(ProcessorConfig config, Normalizer normalizer, Normalizer unnormalizer)
    : config_(std::move(config)), normalizer_(std::move(normalizer)), unnormalizer_(std::move(unnormalizer)) {
  if (config_.float_dtype) parse_float_dtype(*config_.float_dtype);
}

PolicyProcessors::PolicyProcessors(ProcessorConfig config, const FeatureStats& stats)
    : PolicyProcessors(
          config,
          Normalizer(normalizer_config(config, joined(config.input_features, config.output_features)),
                     rename_stats(stats, config.rename_map)),
          Normalizer(normalizer_config(config, config.output_features), rename_stats(stats, config.rename_map))) {}

PolicyProcessors PolicyProcessors::load(const std::filesystem::path& directory, const ProcessorOverrides& overrides) {
  PipelineFile pre = read_pipeline(directory, Direction::kPre);
  PipelineFile post = read_pipeline(directory, Direction::kPost);

  ProcessorConfig config;
  for (const auto& [key, feature] : pre.normalizer.features) {
    if (feature.type != FeatureType::kAction) config.input_features.set(key, feature);
  }
  config.output_features = post.normalizer.features;
  config.rename_map = overrides.rename_map.value_or(pre.rename_map);
  config.device = overrides.device ? *overrides.device : parse_device(pre.device);
  config.eps = pre.normalizer.eps;
  config.float_dtype = pre.float_dtype;

  const bool new_features = overrides.input_features || overrides.output_features;
  if (overrides.input_features) config.input_features = *overrides.input_features;
  if (overrides.output_features) config.output_features = *overrides.output_features;
  if (new_features) {
    pre.normalizer.features = joined(config.input_features, config.output_features);
    post.normalizer.features = config.output_features;
  }
  if (overrides.norm_map) pre.normalizer.norm_map = post.normalizer.norm_map = *overrides.norm_map;
  config.norm_map = pre.normalizer.norm_map;
  if (overrides.stats && !overrides.stats->empty()) {
    pre.stats = post.stats = rename_stats(*overrides.stats, config.rename_map);
  }
  return PolicyProcessors(std::move(config), Normalizer(pre.normalizer, pre.stats),
                          Normalizer(post.normalizer, post.stats));
}

void PolicyProcessors::save(FileSystem& files, const std::filesystem::path& directory) const {
  const PipelineFile pre{.rename_map = config_.rename_map,
                         .device = c10::DeviceTypeName(config_.device.type(), /*lower_case=*/true),
                         .float_dtype = config_.float_dtype,
                         .normalizer = normalizer_.config(),
                         .stats = normalizer_.stats()};
  const PipelineFile post{.rename_map = {},
                          .device = "cpu",
                          .float_dtype = {},
                          .normalizer = unnormalizer_.config(),
                          .stats = unnormalizer_.stats()};
  write_pipeline(files, directory, Direction::kPre, pre);
  write_pipeline(files, directory, Direction::kPost, post);
}

torch::Tensor PolicyProcessors::to_device(torch::Tensor tensor) const {
  torch::ScalarType dtype = tensor.scalar_type();
  if (config_.float_dtype && tensor.is_floating_point()) dtype = parse_float_dtype(*config_.float_dtype);
  // A tensor on an accelerator of the wanted kind stays where the loader put it.
  const bool stays = !tensor.is_cpu() && tensor.device().type() == config_.device.type();
  const torch::Device device = stays ? tensor.device() : config_.device;
  return dataset::to_device(tensor, device, dtype);
}

void PolicyProcessors::restore_single_dimensions(Batch& batch) const {
  for (const FeatureMap* features : {&config_.input_features, &config_.output_features}) {
    for (const auto& [key, feature] : *features) {
      const auto found = batch.tensors.find(key);
      if (feature.shape != std::vector<int64_t>{1} || found == batch.tensors.end()) continue;
      torch::Tensor& tensor = found->second;
      const auto pad = batch.tensors.find(key + std::string(kPad));
      const bool only_batch_and_time = pad != batch.tensors.end() && pad->second.sizes() == tensor.sizes();
      if (tensor.dim() == 1 || only_batch_and_time) tensor = tensor.unsqueeze(-1);
    }
  }
}

Batch PolicyProcessors::preprocess(Batch batch) {
  Batch result;
  result.task = std::move(batch.task);
  for (auto& [old_key, tensor] : batch.tensors) {
    const std::string key = renamed(old_key, config_.rename_map);
    if (!reaches_the_policy(key)) continue;
    if (!result.tensors.emplace(key, to_device(std::move(tensor))).second) refuse_collision(key);
  }
  batch.tensors.clear();
  restore_single_dimensions(result);

  for (auto& [key, tensor] : result.tensors) {
    const PolicyFeature* feature = config_.input_features.find(key);
    if (feature && feature->type == FeatureType::kVisual && tensor.scalar_type() == torch::kUInt8) {
      tensor = tensor.to(torch::kFloat32).div_(255);
    }
    if (feature || key == "action") tensor = normalizer_.normalize(key, std::move(tensor));
  }
  return result;
}

torch::Tensor PolicyProcessors::postprocess(const torch::Tensor& action) {
  return unnormalizer_.unnormalize("action", action).to(torch::kCPU);
}

}  // namespace lerobot::processor
