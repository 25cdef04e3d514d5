// Policy features: what a policy reads and writes, typed as LeRobot types them (configs/types.py).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lerobot {

enum class FeatureType { kState, kVisual, kEnv, kAction, kReward, kLanguage };
enum class NormalizationMode { kMinMax, kMeanStd, kIdentity, kQuantiles, kQuantile10 };

std::string_view to_string(FeatureType type);        // "STATE", "VISUAL", "ENV", "ACTION", "REWARD", "LANGUAGE"
std::string_view to_string(NormalizationMode mode);  // "MIN_MAX", "MEAN_STD", "IDENTITY", "QUANTILES", "QUANTILE10"
std::optional<FeatureType> parse_feature_type(std::string_view text);
std::vector<std::string> feature_type_names();  // of all types
std::optional<NormalizationMode> parse_normalization_mode(std::string_view text);

struct PolicyFeature {
  FeatureType type = FeatureType::kState;
  std::vector<int64_t> shape;  // cameras: [C, H, W]

  bool operator==(const PolicyFeature&) const = default;
};

// A map that keeps insertion order, since the order of features is the order of cameras.
template <class Value>
class OrderedMap {
 public:
  using Entry = std::pair<std::string, Value>;

  OrderedMap() = default;
  OrderedMap(std::initializer_list<Entry> entries) : entries_(entries) {}

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  auto begin() { return entries_.begin(); }
  auto end() { return entries_.end(); }
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  void clear() { entries_.clear(); }

  const Value* find(std::string_view key) const {
    for (const auto& entry : entries_)
      if (entry.first == key) return &entry.second;
    return nullptr;
  }
  bool contains(std::string_view key) const { return find(key) != nullptr; }

  // Replaces the value of an existing key in place, else appends.
  void set(std::string key, Value value) {
    for (auto& entry : entries_) {
      if (entry.first == key) {
        entry.second = std::move(value);
        return;
      }
    }
    entries_.emplace_back(std::move(key), std::move(value));
  }

  bool operator==(const OrderedMap&) const = default;

 private:
  std::vector<Entry> entries_;
};

using FeatureMap = OrderedMap<PolicyFeature>;
using NormalizationMap = OrderedMap<NormalizationMode>;  // keys: FeatureType names

}  // namespace lerobot
