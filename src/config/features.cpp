#include "lerobot/config/features.hpp"

#include <array>

namespace lerobot {
namespace {

constexpr std::array<std::pair<FeatureType, std::string_view>, 6> kFeatureTypes{{
    {FeatureType::kState, "STATE"},
    {FeatureType::kVisual, "VISUAL"},
    {FeatureType::kEnv, "ENV"},
    {FeatureType::kAction, "ACTION"},
    {FeatureType::kReward, "REWARD"},
    {FeatureType::kLanguage, "LANGUAGE"},
}};

constexpr std::array<std::pair<NormalizationMode, std::string_view>, 5> kNormalizationModes{{
    {NormalizationMode::kMinMax, "MIN_MAX"},
    {NormalizationMode::kMeanStd, "MEAN_STD"},
    {NormalizationMode::kIdentity, "IDENTITY"},
    {NormalizationMode::kQuantiles, "QUANTILES"},
    {NormalizationMode::kQuantile10, "QUANTILE10"},
}};

template <class Names, class Value>
std::string_view name_of(const Names& names, Value value) {
  for (const auto& [candidate, name] : names)
    if (candidate == value) return name;
  return "";
}

template <class Value, size_t N>
std::optional<Value> value_of(const std::array<std::pair<Value, std::string_view>, N>& names, std::string_view text) {
  for (const auto& [value, name] : names)
    if (name == text) return value;
  return std::nullopt;
}

}  // namespace

std::string_view to_string(FeatureType type) {
  return name_of(kFeatureTypes, type);
}
std::string_view to_string(NormalizationMode mode) {
  return name_of(kNormalizationModes, mode);
}
std::optional<FeatureType> parse_feature_type(std::string_view text) {
  return value_of(kFeatureTypes, text);
}
std::vector<std::string> feature_type_names() {
  std::vector<std::string> names;
  for (const auto& [type, name] : kFeatureTypes) names.emplace_back(name);
  return names;
}
std::optional<NormalizationMode> parse_normalization_mode(std::string_view text) {
  return value_of(kNormalizationModes, text);
}

}  // namespace lerobot
