#include "lerobot/processor/normalizer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/generated/variable_factories.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <utility>

#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "lerobot/core/text.hpp"

namespace lerobot::processor {
namespace {

constexpr std::string_view kAction = "action";

// A single number broadcasts to anything, whatever its rank in the file.
torch::Tensor without_useless_rank(const torch::Tensor& stat) {
  return stat.numel() == 1 ? stat.reshape({}) : stat;
}

// The two statistics that a mode needs: what is subtracted, and what the divisor is made of.
struct NeededStats {
  std::string low, high;
};

NeededStats needed_stats(NormalizationMode mode) {
  switch (mode) {
    case NormalizationMode::kMeanStd:
      return {"mean", "std"};
    case NormalizationMode::kMinMax:
      return {"min", "max"};
    case NormalizationMode::kQuantiles:
      return {"q01", "q99"};
    case NormalizationMode::kQuantile10:
      return {"q10", "q90"};
    case NormalizationMode::kIdentity:
      break;
  }
  TORCH_CHECK(false, "IDENTITY needs no statistics");
}

FeatureStats to_float32(const FeatureStats& stats, const FeatureMap& features) {
  FeatureStats converted;
  for (const auto& [key, values] : stats) {
    const PolicyFeature* feature = features.find(key);
    const bool camera = feature && feature->type == FeatureType::kVisual;
    for (const auto& [name, value] : values) {
      torch::Tensor tensor = value.to(torch::kCPU, torch::kFloat32);
      if (camera && tensor.dim() == 1) tensor = tensor.reshape({-1, 1, 1});
      converted[key][name] = tensor;
    }
  }
  return converted;
}

// Whether a statistic of sizes `stat` broadcasts to a feature of `shape` without growing it.
bool fits(torch::IntArrayRef stat, const std::vector<int64_t>& shape) {
  if (c10::multiply_integers(stat) == 1) return true;
  if (stat.size() > shape.size()) return false;
  return std::equal(stat.rbegin(), stat.rend(), shape.rbegin(),
                    [](int64_t ours, int64_t theirs) { return ours == theirs || ours == 1; });
}

std::string names_of(const std::map<std::string, torch::Tensor>& stats) {
  std::vector<std::string> names;
  for (const auto& [name, value] : stats) names.push_back(name);
  return names.empty() ? "none" : join(names, ", ");
}

// Whether `tensor` can be changed without anybody noticing.
bool is_ours_alone(const torch::Tensor& tensor) {
  return tensor.use_count() == 1 && tensor.has_storage() && tensor.storage().use_count() == 1 &&
         !tensor.requires_grad() && tensor.is_non_overlapping_and_dense();
}

torch::ScalarType arithmetic_dtype(const torch::Tensor& tensor) {
  return tensor.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
}

// Back to the half precision that `like` came in; integers stay float32.
torch::Tensor restore_dtype(torch::Tensor result, torch::ScalarType dtype) {
  return c10::isFloatingType(dtype) ? result.to(dtype) : result;
}

}  // namespace

Normalizer::Normalizer(NormalizerConfig config, const FeatureStats& stats)
    : config_(std::move(config)), stats_(to_float32(stats, config_.features)) {
  for (const auto& [key, feature] : config_.features) check(key);
  const std::string action(kAction);
  if (!config_.features.contains(action) && stats_.count(action)) check(action);
}

NormalizationMode Normalizer::mode_of(const std::string& key) const {
  FeatureType type = FeatureType::kAction;
  if (key != kAction) {
    const PolicyFeature* feature = config_.features.find(key);
    if (!feature || feature->type == FeatureType::kAction) return NormalizationMode::kIdentity;
    const auto& chosen = config_.normalize_observation_keys;
    if (chosen && std::find(chosen->begin(), chosen->end(), key) == chosen->end()) return NormalizationMode::kIdentity;
    type = feature->type;
  }
  const NormalizationMode* mode = config_.norm_map.find(to_string(type));
  return mode ? *mode : NormalizationMode::kIdentity;
}

void Normalizer::check(const std::string& key) const {
  const NormalizationMode mode = mode_of(key);
  if (mode == NormalizationMode::kIdentity) return;
  const PolicyFeature* feature = config_.features.find(key);  // null: an action that is no feature of this side
  const auto stats = stats_.find(key);
  if (stats == stats_.end()) {
    log::warning(
        fmt::format("feature `{}` is to be normalised with {}, but there are no statistics for it: it is left "
                    "as it is",
                    key, to_string(mode)));
    return;
  }
  const NeededStats needed = needed_stats(mode);
  for (const std::string& name : {needed.low, needed.high}) {
    const auto stat = stats->second.find(name);
    if (stat == stats->second.end()) {
      const bool quantiles = mode == NormalizationMode::kQuantiles || mode == NormalizationMode::kQuantile10;
      throw UsageError(fmt::format(
          "feature `{0}` is to be normalised with {1}, which needs the statistics {2} and {3}, but its statistics hold "
          "no {4} (they hold: {5}). {6}, or choose another mode for {7} with --policy.normalization_mapping",
          key, to_string(mode), needed.low, needed.high, name, names_of(stats->second),
          quantiles ? "Add quantiles to the dataset with LeRobot's augment_dataset_quantile_stats.py"
                    : "Recompute the dataset's meta/stats.json with LeRobot",
          to_string(feature ? feature->type : FeatureType::kAction)));
    }
    if (feature && !fits(stat->second.sizes(), feature->shape)) {
      throw UsageError(
          fmt::format("statistic {} of feature `{}` has the shape [{}], the feature has [{}]: the statistics "
                      "are those of another dataset or robot",
                      name, key, fmt::join(stat->second.sizes(), ", "), fmt::join(feature->shape, ", ")));
    }
    if (!stat->second.isfinite().all().item<bool>()) {
      throw UsageError(fmt::format(
          "statistic {} of feature `{}` holds NaN or infinity, and every normalised value with it. Look for "
          "broken values in the dataset and recompute its meta/stats.json with LeRobot",
          name, key));
    }
  }
}

const Normalizer::Constants* Normalizer::constants(const std::string& key, const torch::Tensor& like) {
  const NormalizationMode mode = mode_of(key);
  const auto stats = stats_.find(key);
  if (mode == NormalizationMode::kIdentity || stats == stats_.end()) return nullptr;

  const torch::ScalarType dtype = arithmetic_dtype(like);
  Constants& made = constants_[key];
  if (made.offset.defined() && made.offset.device() == like.device() && made.offset.scalar_type() == dtype)
    return &made;

  const NeededStats needed = needed_stats(mode);
  TORCH_CHECK(stats->second.count(needed.low) && stats->second.count(needed.high), "statistics of ", key,
              " were not checked");
  const torch::Tensor low = without_useless_rank(stats->second.at(needed.low)).to(dtype);
  const torch::Tensor high = without_useless_rank(stats->second.at(needed.high)).to(dtype);
  made.to_unit_range = mode != NormalizationMode::kMeanStd;
  made.offset = low.to(like.device());
  if (made.to_unit_range) {
    const torch::Tensor range = high - low;
    // Halving is exact, so x / (range / 2) equals 2 x / range.
    made.divisor =
        torch::where(range == 0, torch::full({}, config_.eps, range.options()), range).div(2).to(like.device());
    made.scale = made.divisor;
  } else {
    made.divisor = (high + config_.eps).to(like.device());
    made.scale = high.to(like.device());
  }
  return &made;
}

torch::Tensor Normalizer::normalize(const std::string& key, torch::Tensor x) {
  const Constants* feature = constants(key, x);
  if (!feature) return x;
  const torch::ScalarType dtype = x.scalar_type();
  torch::Tensor y;
  if (dtype == arithmetic_dtype(x)) {
    y = is_ours_alone(x) ? x.sub_(feature->offset) : x - feature->offset;
  } else {
    y = x.to(arithmetic_dtype(x)).sub_(feature->offset);
  }
  y.div_(feature->divisor);
  if (feature->to_unit_range) y.sub_(1);
  return restore_dtype(std::move(y), dtype);
}

torch::Tensor Normalizer::unnormalize(const std::string& key, const torch::Tensor& y) {
  const Constants* feature = constants(key, y);
  if (!feature) return y;
  const torch::Tensor exact = y.to(arithmetic_dtype(y));
  torch::Tensor x = feature->to_unit_range ? (exact + 1).mul_(feature->scale) : exact * feature->scale;
  return restore_dtype(x.add_(feature->offset), y.scalar_type());
}

TensorMap flatten_stats(const FeatureStats& stats) {
  TensorMap tensors;
  for (const auto& [key, values] : stats) {
    for (const auto& [name, value] : values) tensors[key + "." + name] = value;
  }
  return tensors;
}

FeatureStats unflatten_stats(const TensorMap& tensors) {
  FeatureStats stats;
  for (const auto& [name, tensor] : tensors) {
    const size_t dot = name.rfind('.');
    if (dot == std::string::npos) {
      throw UsageError(fmt::format("`{}` is not the name of a statistic (<feature>.<statistic>)", name));
    }
    stats[name.substr(0, dot)][name.substr(dot + 1)] = tensor;
  }
  return stats;
}

}  // namespace lerobot::processor
