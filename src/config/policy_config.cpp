#include "lerobot/config/policy_config.hpp"

#include <fmt/format.h>

#include "lerobot/core/text.hpp"

namespace lerobot {
namespace {

const PolicyFeature* find_feature(const std::optional<FeatureMap>& features, std::string_view key, FeatureType type) {
  const PolicyFeature* feature = features ? features->find(key) : nullptr;
  return feature && feature->type == type ? feature : nullptr;
}

// Whether there is such a device is for device::resolve_device() to say.
bool is_device_name(std::string_view text) {
  if (text == "cpu" || text == "mps" || text == "cuda" || text == "xpu") return true;
  if (!text.starts_with("cuda:") && !text.starts_with("xpu:")) return false;
  const std::string_view index = text.substr(text.find(':') + 1);
  return !index.empty() && index.size() <= 3 && index.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

void PolicyConfig::fields(config::Visitor& visit) {
  visit("n_obs_steps", n_obs_steps, "Observations the policy sees: the current one and those before it");
  visit("input_features", input_features, "Features it reads; filled in from the dataset when empty");
  visit("output_features", output_features, "Features it predicts; filled in from the dataset");
  visit("device", device, "cuda, cuda:N, mps, xpu or cpu; null chooses the best that is here");
  visit("use_amp", use_amp, "Recorded; training precision is --accelerator.mixed_precision");
  visit("use_peft", use_peft, "Train adapters instead of the whole policy", {.implemented = false});
  visit("push_to_hub", push_to_hub, "Upload the trained policy to --policy.repo_id at the end (not yet: give false)");
  visit("repo_id", repo_id, "Hub repository for the trained policy");
  visit("private", is_private, "Whether that repository is private");
  visit("tags", tags, "Tags of that repository");
  visit("license", license, "License of that repository");
  visit("pretrained_path", pretrained_path, "Folder the weights start from; --policy.path sets it");
  visit("pretrained_revision", pretrained_revision, "Revision of a pretrained Hub repository");
}

void PolicyConfig::validate(config::Problems& problems) const {
  if (device && !is_device_name(*device)) {
    problems.add("device", fmt::format("must be null, cuda, cuda:N, mps, xpu or cpu, got '{}'", *device));
  }
  if (n_obs_steps < 1) problems.add("n_obs_steps", fmt::format("must be at least 1, got {}", n_obs_steps));
  const std::vector<std::string> types = feature_type_names();
  for (const auto& [type, mode] : normalization()) {
    if (parse_feature_type(type)) continue;
    problems.add("normalization_mapping", fmt::format("`{}` is no type of features; its keys are {}.{}", type,
                                                      join(types, ", "), did_you_mean(type, types)));
  }
}

std::vector<FeatureMap::Entry> PolicyConfig::image_features() const {
  std::vector<FeatureMap::Entry> images;
  if (!input_features) return images;
  for (const auto& entry : *input_features)
    if (entry.second.type == FeatureType::kVisual) images.push_back(entry);
  return images;
}

const PolicyFeature* PolicyConfig::robot_state_feature() const {
  return find_feature(input_features, "observation.state", FeatureType::kState);
}

const PolicyFeature* PolicyConfig::env_state_feature() const {
  if (!input_features) return nullptr;
  for (const auto& [_, feature] : *input_features)
    if (feature.type == FeatureType::kEnv) return &feature;
  return nullptr;
}

const PolicyFeature* PolicyConfig::action_feature() const {
  return find_feature(output_features, "action", FeatureType::kAction);
}

}  // namespace lerobot
