// Normalisation of observations and actions, and its inverse (LeRobot: processor/normalize_processor.py).
#pragma once

#include <torch/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lerobot/config/features.hpp"
#include "lerobot/core/safetensors.hpp"
#include "lerobot/dataset/stats.hpp"

namespace lerobot::processor {

// What both directions need. A feature type absent from norm_map is left as it is, and so is a feature without stats.
struct NormalizerConfig {
  FeatureMap features = {};
  NormalizationMap norm_map = {};
  double eps = 1e-8;
  std::optional<std::vector<std::string>> normalize_observation_keys = {};  // other observations are left as they are

  bool operator==(const NormalizerConfig&) const = default;
};

// Normalises one tensor at a time by its feature's mode; x may have any leading dimensions:
//   MEAN_STD    (x - mean) / (std + eps)            back: y std + mean (without eps)
//   MIN_MAX     2 (x - min) / d - 1, d = max - min  back: (y + 1) d / 2 + min
//   QUANTILES   2 (x - q01) / d - 1, d = q99 - q01  back: (y + 1) d / 2 + q01
//   QUANTILE10  the same with q10 and q90
// where d == 0 is replaced by eps. Nothing is clipped. Arithmetic runs on the input's device, in float64 for float64
// and in float32 for all else; float16 and bfloat16 come back as they were, integers as float32. A feature's constants
// are made once for a device and kept, so one object serves one device in the loop. Not thread-safe.
class Normalizer {
 public:
  // `stats`: any dtype, on the CPU; kept as float32. Each is of its feature's shape, broadcastable to it, or a single
  // number of any rank; flat stats [C] of a camera mean [C, 1, 1].
  // Throws UsageError when a feature that `config` normalises has stats but lacks the two its mode needs, or has stats
  // of another size; the message names the feature, what is wrong and the way out. Warns when it has none at all.
  Normalizer(NormalizerConfig config, const FeatureStats& stats);

  // `key`'s type is its feature's; "action" is always of type ACTION. Works in place when `x` is handed over with
  // std::move and nothing else holds its memory.
  torch::Tensor normalize(const std::string& key, torch::Tensor x);
  torch::Tensor unnormalize(const std::string& key, const torch::Tensor& y);

  const NormalizerConfig& config() const { return config_; }
  const FeatureStats& stats() const { return stats_; }  // float32, cameras' flat stats as [C, 1, 1]

 private:
  struct Constants {  // of one feature; broadcastable over [..., D] or [..., C, H, W]
    torch::Tensor offset, divisor, scale;
    bool to_unit_range = false;  // [-1, 1]: every mode but MEAN_STD
  };

  NormalizationMode mode_of(const std::string& key) const;
  void check(const std::string& key) const;
  const Constants* constants(const std::string& key, const torch::Tensor& like);  // null: left as it is

  NormalizerConfig config_;
  FeatureStats stats_;
  std::map<std::string, Constants> constants_;
};

// "<feature>.<stat>" -> tensor, and back. Feature names may hold dots; the stat is what follows the last one.
TensorMap flatten_stats(const FeatureStats& stats);
FeatureStats unflatten_stats(const TensorMap& tensors);

}  // namespace lerobot::processor
