#include "policy_shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace lerobot::policy {
namespace {

// One size of one tensor that differs.
struct Difference {
  std::string tensor;
  int64_t policy = 0;
  int64_t file = 0;
};

// Something that tensors' sizes follow.
struct Setting {
  std::string name;     // "--policy.dim_model", or a feature
  int64_t value = 0;    // here
  std::string only_in;  // tensors whose name holds this text; "": all
  bool is_feature = false;
};

std::vector<Difference> differences(const std::vector<ShapeMismatch>& mismatches) {
  std::vector<Difference> result;
  for (const ShapeMismatch& mismatch : mismatches) {
    if (mismatch.file.size() != mismatch.policy.size()) continue;
    for (size_t i = 0; i < mismatch.file.size(); ++i) {
      if (mismatch.file[i] == mismatch.policy[i]) continue;
      result.push_back({.tensor = mismatch.name, .policy = mismatch.policy[i], .file = mismatch.file[i]});
    }
  }
  return result;
}

void add_features(const std::optional<FeatureMap>& features, std::vector<Setting>& settings) {
  if (!features) return;
  for (const auto& [key, feature] : *features) {
    if (feature.shape.size() != 1) continue;
    settings.push_back(
        {.name = key, .value = feature.shape.front(), .only_in = key.substr(key.rfind('.') + 1), .is_feature = true});
  }
}

// In the order in which they are believed when they explain equally much.
std::vector<Setting> settings_of(const PolicyConfig& config) {
  std::vector<Setting> settings;
  add_features(config.output_features, settings);
  add_features(config.input_features, settings);
  // fields() is not const because reading needs the members; these are only looked at.
  for (const config::Field& field : config::fields_of(const_cast<PolicyConfig&>(config))) {
    const Json value = field.value->to_json();
    if (!value.is_number_integer() || value.get<int64_t>() < 2) continue;  // a size of 1 says nothing
    settings.push_back({.name = "--policy." + field.name, .value = value.get<int64_t>(), .only_in = ""});
  }
  return settings;
}

// What the setting was in the checkpoint if it explains the difference: sizes are the setting or, where several
// projections lie in one tensor (query, key and value; mean and variance), two or three times it, which says less.
struct Guess {
  int64_t value = 0;
  int64_t score = 0;
};
std::optional<Guess> guess_from(const Setting& setting, const Difference& difference) {
  if (difference.tensor.find(setting.only_in) == std::string::npos) return std::nullopt;
  for (int64_t times = 1; times <= 3; ++times) {
    if (difference.policy != times * setting.value || difference.file % times != 0) continue;
    return Guess{.value = difference.file / times, .score = times == 1 ? 2 : 1};
  }
  return std::nullopt;
}

// The differences that a setting explains, all by the same value in the checkpoint.
struct Explanation {
  int64_t value = 0;
  int64_t score = 0;
  std::vector<size_t> explained;  // indices of differences
};

Explanation best_explanation(const Setting& setting, const std::vector<Difference>& all, const std::set<size_t>& open) {
  std::map<int64_t, Explanation> by_value;
  for (const size_t i : open) {
    const auto guess = guess_from(setting, all[i]);
    if (!guess) continue;
    Explanation& explanation = by_value[guess->value];
    explanation.value = guess->value;
    explanation.score += guess->score;
    explanation.explained.push_back(i);
  }
  Explanation best;
  for (auto& [value, explanation] : by_value) {
    if (explanation.score > best.score) best = std::move(explanation);
  }
  return best;
}

std::string sentence(const Setting& setting, int64_t in_checkpoint) {
  if (setting.is_feature) {
    return fmt::format("`{}` has {} values in this run and {} in the checkpoint: another robot or dataset",
                       setting.name, setting.value, in_checkpoint);
  }
  return fmt::format("{} is {} in this run and {} in the checkpoint", setting.name, setting.value, in_checkpoint);
}

}  // namespace

std::vector<std::string> explain_shapes(const PolicyConfig& config, const std::vector<ShapeMismatch>& mismatches) {
  const std::vector<Difference> all = differences(mismatches);
  const std::vector<Setting> settings = settings_of(config);
  std::set<size_t> open;
  for (size_t i = 0; i < all.size(); ++i) open.insert(i);

  std::vector<std::string> sentences;
  while (true) {
    const Setting* chosen = nullptr;
    Explanation best;
    for (const Setting& setting : settings) {
      Explanation explanation = best_explanation(setting, all, open);
      if (explanation.score <= best.score) continue;
      best = std::move(explanation);
      chosen = &setting;
    }
    if (!chosen) return sentences;
    sentences.push_back(sentence(*chosen, best.value));
    for (const size_t i : best.explained) open.erase(i);
  }
}

}  // namespace lerobot::policy
