// The exponential moving average of the weights, by the rule of diffusers' EMAModel (what LeRobot trains with), and its
// state file training_state/ema_state.pt.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "lerobot/config/run_config.hpp"
#include "lerobot/core/file_system.hpp"

namespace lerobot::optim {

// diffusers' EMAModel.state_dict(). A constant decay is written as decay == min_decay.
struct EmaState {
  double decay = 0.9999;  // the largest
  double min_decay = 0.0;
  int64_t optimization_step = 0;  // updates that counted
  int64_t update_after_step = 0;
  bool use_ema_warmup = true;
  double inv_gamma = 1.0;
  double power = 0.75;
  std::vector<torch::Tensor> shadow_params;  // in parameters() order
};

// Update number n pulls each shadow towards its parameter,
//   shadow -= (1 - decay) * (shadow - parameter)    in float32, with t = n - update_after_step - 1 and
//   decay = clamp(1 - (1 + t / inv_gamma)^-power, min_decay, decay)      0 while t <= 0: the shadow follows the
//   weights;
// without use_ema_warmup (1 + t) / (10 + t) stands in for the power law. Shadows of parameters that need no gradient
// are copies. On the CPU the numbers equal diffusers' bit for bit.
class ExponentialMovingAverage {
 public:
  // The shadows are float32 clones on the parameters' device, which is one for all. Which parameters need a gradient is
  // decided here.
  ExponentialMovingAverage(const EmaConfig& config, std::vector<torch::Tensor> parameters);

  // Once per optimizer step, after it.
  //   found_inf   float32, 1 element, on the parameters' device: where it is exactly 1 the optimizer skipped, and no
  //               average moves and the update does not count. Reads nothing back from the device.
  void update(const torch::Tensor& found_inf);

  const std::vector<torch::Tensor>& shadow_params() const { return state_.shadow_params; }

  EmaState state() const;  // reads from the device; the tensors are the live ones

  // Takes over everything, the decay's settings too, as LeRobot does on resume: they shape the curve that the count
  // stands on. Warns where they differ from those that were configured. Throws UsageError naming `source` for another
  // number of shadows, another shape or dtype, and for settings out of range; then nothing has changed.
  void load_state(const EmaState& state, std::string_view source);

 private:
  void start_schedule(int64_t step);
  void extend_schedule(int64_t count);

  // Parameters whose difference to their shadows is in memory at the same time.
  struct Group {
    std::vector<torch::Tensor> shadows;
    std::vector<torch::Tensor> parameters;
  };
  std::vector<Group> averaged_;
  Group copied_;

  // state_.optimization_step is the step at which the schedule starts; the updates since are counted on the device.
  EmaState state_;
  // float32: 1 - decay of the update optimization_step + i. Made by the host in double, which not every device has;
  // grown when the host's count of updates, counted or not, reaches its end.
  torch::Tensor schedule_;
  bool schedule_is_flat_after_ = false;  // its last value holds for ever
  int64_t attempts_ = 0;
  torch::Tensor counted_;  // int64, [1]
};

// Writes what `torch.load(path, weights_only=True)` gives back as the dict that EMAModel.load_state_dict takes.
// Throws RunError with the path.
void write_ema_state(FileSystem& files, const std::filesystem::path& path, const EmaState& state);

// Reads what write_ema_state or LeRobot wrote, from whatever device. Shadows arrive in main memory as float32; narrower
// ones are widened. Throws UsageError naming the file and the key.
EmaState read_ema_state(const std::filesystem::path& path);

}  // namespace lerobot::optim
