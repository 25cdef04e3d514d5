// The smaller sections of a training run (LeRobot: configs/default.py and neighbours).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lerobot/config/schema.hpp"

namespace lerobot {

struct EvalConfig : config::Section {
  int64_t n_episodes = 50;
  int64_t batch_size = 0;  // environments side by side; 0: chosen by resolve()
  bool use_async_envs = true;
  bool recording = false;
  std::optional<std::string> recording_repo_id;
  bool recording_private = false;
  bool count_step_after_end = true;  // ours: eval::ScoreRule
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
  // LeRobot's choice: 70 % of the cores, at least 1, at most 64 and n_episodes. The result is what gets saved.
  void resolve(int64_t cores);
};

struct EmaConfig : config::Section {
  bool enable = false;
  std::optional<double> decay;  // a constant instead of the schedule below
  int64_t update_after_step = 0;
  double inv_gamma = 1.0;
  double power = 0.75;
  double min_decay = 0.0;
  double max_decay = 0.9999;
  bool use_for_eval = true;
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
};

struct WandbConfig : config::Section {
  bool enable = false;
  bool disable_artifact = false;
  std::string project = "lerobot";
  std::optional<std::string> entity;
  std::optional<std::string> notes;
  std::optional<std::string> run_id;
  std::optional<std::string> mode;
  bool add_tags = true;
  void fields(config::Visitor& visit) override;
};

struct PeftConfig : config::Section {
  Json target_modules;  // null, text or a list of text
  std::optional<std::vector<std::string>> full_training_modules;
  std::string method_type = "LORA";
  std::optional<std::string> init_type;
  int64_t r = 16;
  std::optional<int64_t> lora_alpha;
  void fields(config::Visitor& visit) override;
};

struct JobConfig : config::Section {
  std::optional<std::string> target;  // null or "local": here
  std::string image = "huggingface/lerobot-gpu:latest";
  std::optional<std::string> timeout = "2d";
  bool detach = false;
  std::vector<std::string> tags;
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
};

struct SampleWeightingConfig : config::Section {
  std::string type = "rabc";
  std::optional<std::string> progress_path;
  std::string head_mode = "sparse";
  double kappa = 0.01;
  double epsilon = 1e-6;
  Json extra_params = Json::object();
  void fields(config::Visitor& visit) override;
};

// Where a run's results go when nothing else is said, as in LeRobot: outputs/<kind>/2026-01-31/18-30-00_<job_name>,
// with the local time.
std::filesystem::path default_output_dir(std::string_view kind, std::string_view job_name,
                                         std::chrono::system_clock::time_point now);

// Base of what --reward_model.type chooses.
struct RewardModelConfig : config::Section {
  virtual std::string type() const = 0;
};

}  // namespace lerobot
