// Adam, AdamW and SGD on LibTorch's fused kernels, with the state files of LeRobot (torch.optim's state_dict).
#pragma once

#include <torch/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "lerobot/config/optimizer_config.hpp"
#include "lerobot/core/json.hpp"
#include "lerobot/core/safetensors.hpp"

namespace lerobot::optim {

// Parameters that share settings.
struct ParamGroup {
  std::vector<torch::Tensor> params;
  std::optional<double> lr;  // nullopt: the optimizer's
};

// Who looks at grad_scale and found_inf.
enum class Gate {
  kByDevice,  // the fused kernel, on the device; but the host for MPS, whose Adam kernels take both and ignore them
  kHost,      // the host reads found_inf back and leaves the kernel out
};

// Everything stays on the device: a step reads nothing back and costs a few kernels a group, device and dtype.
class Optimizer {
 public:
  // `config` is one of optim/optimizer_configs.hpp. A group may be empty. Throws RunError for another config, for a
  // parameter that stands in two places and for one that is not a dense leaf.
  Optimizer(const OptimizerConfig& config, std::vector<ParamGroup> groups, Gate gate = Gate::kByDevice);

  // Updates every parameter that has a gradient; the others, their state and their step count stay as they are.
  //   grad_scale  float32, shape []: gradients are divided by it first (and hold the quotient afterwards). Leave it out
  //               when they were unscaled already, as clipping requires.
  //   found_inf   float32, shape []: where it is exactly 1, weights, moments and step counts stay untouched. Any other
  //               value lets the update through, so ranks must agree on it by maximum, never by sum.
  void step(const std::optional<torch::Tensor>& grad_scale = {}, const std::optional<torch::Tensor>& found_inf = {});

  void zero_grad(bool set_to_none = true);

  std::vector<torch::Tensor> parameters() const;  // in state-file order
  std::vector<torch::Tensor> gradients() const;   // those that are there

  size_t group_count() const { return groups_.size(); }
  double lr(size_t group) const { return groups_.at(group).settings.lr; }
  void set_lr(size_t group, double lr) { groups_.at(group).settings.lr = lr; }
  double default_lr() const { return default_lr_; }  // the configuration's, whatever the groups have

  // A scheduler's base rate. Written to the state file once set, and required there on load.
  std::optional<double> initial_lr(size_t group) const { return groups_.at(group).settings.initial_lr; }
  void set_initial_lr(size_t group, double lr) { groups_.at(group).settings.initial_lr = lr; }

  // optimizer_state.safetensors: state/<i>/{exp_avg, exp_avg_sq, step} or state/<i>/momentum_buffer, i counting the
  // parameters over the groups. Parameters that never had a gradient are absent. The tensors are the live ones.
  TensorMap state_tensors() const;
  // optimizer_param_groups.json: one object a group, torch 2.11's keys. Write with to_python_json: int and float
  // differ.
  Json param_groups_json() const;

  // Replace the whole state. Strict, and nothing changes when they throw: UsageError naming `source` and the key for
  // unknown, missing or partial entries, wrong shapes, JSON types or list lengths, and settings without a kernel here
  // (amsgrad, maximize).
  void load_state_tensors(const TensorMap& tensors, std::string_view source);
  void load_param_groups(const Json& groups, std::string_view source);

 private:
  enum class Kind { kAdam, kAdamW, kSgd };

  // What a group's object in the state file holds; Adam's or SGD's part counts.
  struct Settings {
    double lr = 0;
    std::optional<double> initial_lr;
    double weight_decay = 0;
    std::array<double, 2> betas = {0.9, 0.999};
    double eps = 1e-8;
    double momentum = 0;
    double dampening = 0;
    bool nesterov = false;
  };

  struct State {
    torch::Tensor exp_avg;  // of the parameter's shape, dtype, layout and device, as is the next
    torch::Tensor exp_avg_sq;
    torch::Tensor step;  // float32, []
    torch::Tensor momentum_buffer;
  };

  struct Group {
    std::vector<torch::Tensor> params;
    std::vector<State> states;
    Settings settings;
  };

  // The parameters of a group that one kernel call can take.
  struct Bucket {
    std::vector<size_t> indices;
    std::vector<torch::Tensor> params;
    std::vector<torch::Tensor> grads;
    std::optional<torch::Tensor> grad_scale;  // on the bucket's device, as is the next
    std::optional<torch::Tensor> found_inf;

    c10::Device device() const { return params.front().device(); }
  };

  static std::vector<Bucket> buckets(const Group& group, const std::optional<torch::Tensor>& grad_scale,
                                     const std::optional<torch::Tensor>& found_inf);
  // Does the kernel's part for it where Gate says so. False: this update is to be skipped.
  bool pass_host_gate(Bucket& bucket) const;
  void step_adam(Group& group, Bucket& bucket);
  void step_sgd(Group& group, Bucket& bucket);
  Json settings_json(const Settings& settings) const;
  Settings settings_from_json(const Json& json) const;

  Kind kind_;
  Gate gate_;
  double default_lr_;
  std::vector<Group> groups_;
};

}  // namespace lerobot::optim
