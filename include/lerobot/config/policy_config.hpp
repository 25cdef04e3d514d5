// What every policy's configuration has in common (LeRobot: configs/policies.py, PreTrainedConfig).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lerobot/config/features.hpp"
#include "lerobot/config/schema.hpp"

namespace lerobot {

struct OptimizerConfig;
struct SchedulerConfig;

// A policy type derives from this, adds its fields after the base's, and is registered by its type name
// (policy/registry.hpp). Fields are written to config.json in the order fields() lists them.
struct PolicyConfig : config::Section {
  int64_t n_obs_steps = 1;
  std::optional<FeatureMap> input_features = FeatureMap{};
  std::optional<FeatureMap> output_features = FeatureMap{};
  std::optional<std::string> device;  // as asked for; device::resolve() turns it into what runs
  bool use_amp = false;
  bool use_peft = false;
  bool push_to_hub = true;
  std::optional<std::string> repo_id;
  std::optional<bool> is_private;  // "private"
  std::optional<std::vector<std::string>> tags;
  std::optional<std::string> license;
  std::optional<std::string> pretrained_path;
  std::optional<std::string> pretrained_revision;

  virtual std::string type() const = 0;  // "act"
  virtual std::unique_ptr<PolicyConfig> clone() const = 0;
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;

  virtual const NormalizationMap& normalization() const = 0;  // normalization_mapping
  // Frames relative to now that a training item holds; nullopt: the current frame alone, without a time axis.
  virtual std::optional<std::vector<int64_t>> observation_delta_indices() const = 0;
  virtual std::optional<std::vector<int64_t>> action_delta_indices() const = 0;
  virtual int64_t drop_n_last_frames() const { return 0; }
  // LeRobot's training preset. The scheduler may be null (constant learning rate).
  virtual std::unique_ptr<OptimizerConfig> optimizer_preset() const = 0;
  virtual std::unique_ptr<SchedulerConfig> scheduler_preset() const = 0;
  // What the policy needs of its features, checked once they are known (from the config or the dataset).
  virtual void validate_features(config::Problems& problems) const = 0;

  // Look-ups that ACT and Diffusion share (spec of LeRobot's PreTrainedConfig properties).
  std::vector<FeatureMap::Entry> image_features() const;  // inputs of type VISUAL, in order
  const PolicyFeature* robot_state_feature() const;       // STATE and key exactly "observation.state", or null
  const PolicyFeature* env_state_feature() const;         // first input of type ENV, or null
  const PolicyFeature* action_feature() const;            // ACTION and key exactly "action", or null
};

}  // namespace lerobot
