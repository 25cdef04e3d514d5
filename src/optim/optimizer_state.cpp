// Optimizer's state files. Layout: torch.optim.Optimizer.state_dict() of torch 2.11, as LeRobot splits it.
#include <ATen/ops/empty_like.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "lerobot/core/error.hpp"
#include "lerobot/optim/optimizer.hpp"
#include "strict_json.hpp"

namespace lerobot::optim {
namespace {

std::string state_key(size_t index, std::string_view name) {
  return fmt::format("state/{}/{}", index, name);
}

// A copy of `source` with the layout, dtype and device of `like`, so that the kernels can walk the two together.
torch::Tensor copy_as(const torch::Tensor& like, const torch::Tensor& source) {
  torch::NoGradGuard no_grad;
  return at::empty_like(like, like.options().requires_grad(false)).copy_(source);
}

// Takes entries of a state file one by one and knows which were never taken.
class StateReader {
 public:
  StateReader(const TensorMap& tensors, std::string_view source) : tensors_(tensors), source_(source) {}

  bool contains(const std::string& key) const { return tensors_.contains(key); }

  const torch::Tensor& take(const std::string& key, at::IntArrayRef shape) {
    const auto found = tensors_.find(key);
    if (found == tensors_.end()) refuse(fmt::format("`{}` is missing", key));
    const torch::Tensor& tensor = found->second;
    if (tensor.sizes() != shape) {
      refuse(fmt::format("`{}` has shape [{}], its parameter needs [{}]", key, fmt::join(tensor.sizes(), ", "),
                         fmt::join(shape, ", ")));
    }
    if (!tensor.is_floating_point()) refuse(fmt::format("`{}` is not a floating-point tensor", key));
    taken_.insert(key);
    return tensor;
  }

  void require_all_taken() const {
    for (const auto& [key, tensor] : tensors_)
      if (!taken_.contains(key)) refuse(fmt::format("unknown entry `{}`: it belongs to no parameter of this run", key));
  }

 private:
  [[noreturn]] void refuse(const std::string& problem) const {
    throw UsageError(fmt::format("{}: {}", source_, problem));
  }

  const TensorMap& tensors_;
  std::string_view source_;
  std::set<std::string> taken_;
};

}  // namespace

TensorMap Optimizer::state_tensors() const {
  TensorMap tensors;
  size_t index = 0;
  for (const Group& group : groups_) {
    for (const State& state : group.states) {
      if (state.step.defined()) {
        tensors.emplace(state_key(index, "exp_avg"), state.exp_avg);
        tensors.emplace(state_key(index, "exp_avg_sq"), state.exp_avg_sq);
        tensors.emplace(state_key(index, "step"), state.step);
      }
      if (state.momentum_buffer.defined()) tensors.emplace(state_key(index, "momentum_buffer"), state.momentum_buffer);
      ++index;
    }
  }
  return tensors;
}

void Optimizer::load_state_tensors(const TensorMap& tensors, std::string_view source) {
  StateReader reader(tensors, source);
  std::vector<std::vector<State>> loaded;
  size_t index = 0;
  for (const Group& group : groups_) {
    std::vector<State>& states = loaded.emplace_back(group.params.size());
    for (size_t i = 0; i < group.params.size(); ++i, ++index) {
      const torch::Tensor& param = group.params[i];
      const auto moment = [&](std::string_view name) {
        return copy_as(param, reader.take(state_key(index, name), param.sizes()));
      };
      if (kind_ == Kind::kSgd) {
        if (reader.contains(state_key(index, "momentum_buffer"))) states[i].momentum_buffer = moment("momentum_buffer");
        continue;
      }
      bool has_any = false;
      for (const char* name : {"exp_avg", "exp_avg_sq", "step"}) has_any |= reader.contains(state_key(index, name));
      if (!has_any) continue;
      states[i].exp_avg = moment("exp_avg");
      states[i].exp_avg_sq = moment("exp_avg_sq");
      states[i].step = reader.take(state_key(index, "step"), {}).to(param.device(), at::kFloat, false, /*copy=*/true);
    }
  }
  reader.require_all_taken();
  for (size_t g = 0; g < groups_.size(); ++g) groups_[g].states = std::move(loaded[g]);
}

Json Optimizer::settings_json(const Settings& s) const {
  Json json = Json::object();
  json["lr"] = s.lr;
  if (kind_ == Kind::kSgd) {
    json["momentum"] = s.momentum;
    json["dampening"] = s.dampening;
    json["weight_decay"] = s.weight_decay;
    json["nesterov"] = s.nesterov;
    json["maximize"] = false;
    json["foreach"] = nullptr;
    json["differentiable"] = false;
    json["fused"] = nullptr;
  } else {
    json["betas"] = s.betas;
    json["eps"] = s.eps;
    json["weight_decay"] = s.weight_decay;
    json["amsgrad"] = false;
    json["maximize"] = false;
    json["foreach"] = nullptr;
    json["capturable"] = false;
    json["differentiable"] = false;
    json["fused"] = nullptr;
    json["decoupled_weight_decay"] = kind_ == Kind::kAdamW;
  }
  if (s.initial_lr) json["initial_lr"] = *s.initial_lr;
  return json;
}

Optimizer::Settings Optimizer::settings_from_json(const Json& json) const {
  Settings s;
  s.lr = json.at("lr");
  if (json.contains("initial_lr")) s.initial_lr = json.at("initial_lr").get<double>();
  s.weight_decay = json.at("weight_decay");
  if (kind_ == Kind::kSgd) {
    s.momentum = json.at("momentum");
    s.dampening = json.at("dampening");
    s.nesterov = json.at("nesterov");
  } else {
    s.betas = json.at("betas");
    s.eps = json.at("eps");
  }
  return s;
}

Json Optimizer::param_groups_json() const {
  Json groups = Json::array();
  int64_t index = 0;
  for (const Group& group : groups_) {
    Json json = settings_json(group.settings);
    Json params = Json::array();
    for (size_t i = 0; i < group.params.size(); ++i) params.push_back(index++);
    json["params"] = std::move(params);
    groups.push_back(std::move(json));
  }
  return groups;
}

void Optimizer::load_param_groups(const Json& groups, std::string_view source) {
  const Json current = param_groups_json();
  const bool has_scheduler = !current.empty() && current[0].contains("initial_lr");
  if (groups.is_array() && !groups.empty() && groups[0].contains("initial_lr") != has_scheduler) {
    throw UsageError(
        fmt::format("{}: `initial_lr` is {}: the checkpoint was written {} a learning-rate scheduler and "
                    "this run has {}",
                    source, has_scheduler ? "missing" : "there", has_scheduler ? "without" : "with",
                    has_scheduler ? "one" : "none"));
  }
  require_same_shape(current, groups, source);
  std::vector<Settings> loaded;
  for (size_t g = 0; g < groups_.size(); ++g) {
    // These have no say in the values above: they must be what this optimizer is.
    for (const char* key :
         {"params", "amsgrad", "maximize", "capturable", "differentiable", "decoupled_weight_decay"}) {
      if (current[g].contains(key) && current[g][key] != groups[g][key]) {
        throw UsageError(fmt::format("{}: [{}].{}: must be {} for this optimizer, got {}", source, g, key,
                                     current[g][key].dump(), groups[g][key].dump()));
      }
    }
    loaded.push_back(settings_from_json(groups[g]));
  }
  for (size_t g = 0; g < groups_.size(); ++g) groups_[g].settings = loaded[g];
}

}  // namespace lerobot::optim
