#include "lerobot/optim/optimizer.hpp"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include <map>
#include <unordered_set>

#include "lerobot/core/error.hpp"
#include "lerobot/optim/optimizer_configs.hpp"

namespace lerobot::optim {
namespace {

void require_trainable(const torch::Tensor& param, std::unordered_set<const void*>& seen) {
  if (!param.defined() || !param.is_leaf() || !param.is_non_overlapping_and_dense())
    throw RunError("an optimizer takes dense leaf tensors as parameters");
  if (!seen.insert(param.unsafeGetTensorImpl()).second)
    throw RunError("a parameter stands in two places of the optimizer's groups");
}

// The kernels walk parameter, gradient and moments in memory order, so all must be laid out alike.
torch::Tensor in_layout_of(const torch::Tensor& param, const torch::Tensor& grad) {
  if (grad.strides() == param.strides() && grad.scalar_type() == param.scalar_type()) return grad;
  return at::empty_like(param).copy_(grad);
}

std::optional<torch::Tensor> scalar_on(const std::optional<torch::Tensor>& value, c10::Device device) {
  if (!value || !value->defined()) return std::nullopt;
  return value->to(device, at::kFloat).reshape({});
}

}  // namespace

Optimizer::Optimizer(const OptimizerConfig& config, std::vector<ParamGroup> groups, Gate gate)
    : gate_(gate), default_lr_(config.lr) {
  Settings settings;
  settings.weight_decay = config.weight_decay;
  if (const auto* adam = dynamic_cast<const AdamFamilyConfig*>(&config)) {
    kind_ = dynamic_cast<const AdamWConfig*>(adam) != nullptr ? Kind::kAdamW : Kind::kAdam;
    settings.betas = adam->betas;
    settings.eps = adam->eps;
  } else if (const auto* sgd = dynamic_cast<const SGDConfig*>(&config)) {
    kind_ = Kind::kSgd;
    settings.momentum = sgd->momentum;
    settings.dampening = sgd->dampening;
    settings.nesterov = sgd->nesterov;
  } else {
    throw RunError(fmt::format("no optimizer for the configuration type `{}`", config.type()));
  }
  std::unordered_set<const void*> seen;
  for (ParamGroup& group : groups) {
    for (const torch::Tensor& param : group.params) require_trainable(param, seen);
    settings.lr = group.lr.value_or(config.lr);
    const size_t count = group.params.size();
    groups_.push_back({std::move(group.params), std::vector<State>(count), settings});
  }
}

void Optimizer::step(const std::optional<torch::Tensor>& grad_scale, const std::optional<torch::Tensor>& found_inf) {
  torch::NoGradGuard no_grad;
  for (Group& group : groups_) {
    for (Bucket& bucket : buckets(group, grad_scale, found_inf)) {
      if (!pass_host_gate(bucket)) continue;
      kind_ == Kind::kSgd ? step_sgd(group, bucket) : step_adam(group, bucket);
    }
  }
}

bool Optimizer::pass_host_gate(Bucket& bucket) const {
  if (gate_ != Gate::kHost && !bucket.device().is_mps()) return true;
  if (bucket.found_inf && bucket.found_inf->item<float>() == 1.0f) return false;
  if (bucket.grad_scale) at::_foreach_mul_(bucket.grads, bucket.grad_scale->reciprocal());
  bucket.found_inf.reset();
  bucket.grad_scale.reset();
  return true;
}

std::vector<Optimizer::Bucket> Optimizer::buckets(const Group& group, const std::optional<torch::Tensor>& grad_scale,
                                                  const std::optional<torch::Tensor>& found_inf) {
  std::vector<Bucket> result;
  std::map<std::pair<std::string, c10::ScalarType>, size_t> bucket_of;
  for (size_t i = 0; i < group.params.size(); ++i) {
    const torch::Tensor& param = group.params[i];
    const torch::Tensor& grad = param.grad();
    if (!grad.defined()) continue;
    const auto [entry, is_new] = bucket_of.try_emplace({param.device().str(), param.scalar_type()}, result.size());
    if (is_new) {
      Bucket& bucket = result.emplace_back();
      bucket.grad_scale = scalar_on(grad_scale, param.device());
      bucket.found_inf = scalar_on(found_inf, param.device());
    }
    Bucket& bucket = result[entry->second];
    bucket.indices.push_back(i);
    bucket.params.push_back(param);
    bucket.grads.push_back(in_layout_of(param, grad));
  }
  return result;
}

void Optimizer::step_adam(Group& group, Bucket& bucket) {
  std::vector<torch::Tensor> exp_avgs, exp_avg_sqs, steps;
  for (size_t k = 0; k < bucket.indices.size(); ++k) {
    State& state = group.states[bucket.indices[k]];
    if (!state.step.defined()) {
      state.exp_avg = at::zeros_like(bucket.params[k]);
      state.exp_avg_sq = at::zeros_like(bucket.params[k]);
      state.step = at::zeros({}, bucket.params[k].options().dtype(at::kFloat).requires_grad(false));
    }
    exp_avgs.push_back(state.exp_avg);
    exp_avg_sqs.push_back(state.exp_avg_sq);
    steps.push_back(state.step);
  }
  const Settings& s = group.settings;
  // The count is raised for the kernel's bias correction and taken back where the kernel skipped.
  at::_foreach_add_(steps, 1);
  const auto kernel = [&](auto&& fused) {
    fused(bucket.params, bucket.grads, exp_avgs, exp_avg_sqs, at::TensorList{}, steps, s.lr, s.betas[0], s.betas[1],
          s.weight_decay, s.eps, /*amsgrad=*/false, /*maximize=*/false, bucket.grad_scale, bucket.found_inf);
  };
  if (kind_ == Kind::kAdamW) {
    kernel([](auto&&... args) { at::_fused_adamw_(args...); });
  } else {
    kernel([](auto&&... args) { at::_fused_adam_(args...); });
  }
  if (bucket.found_inf) at::_foreach_sub_(steps, std::vector<torch::Tensor>(steps.size(), *bucket.found_inf));
}

void Optimizer::step_sgd(Group& group, Bucket& bucket) {
  const Settings& s = group.settings;
  const auto kernel = [&](at::TensorList params, at::TensorList grads, at::TensorList buffers, bool is_first_step) {
    at::_fused_sgd_(params, grads, buffers, s.weight_decay, s.momentum, s.lr, s.dampening, s.nesterov,
                    /*maximize=*/false, is_first_step, bucket.grad_scale, bucket.found_inf);
  };
  if (s.momentum == 0.0) return kernel(bucket.params, bucket.grads, {}, false);

  // The first update's buffer is the gradient itself, later ones momentum * buffer + (1 - dampening) * gradient.
  // Without dampening a buffer of zeros makes the two the same, so the first step needs no flag that a skip would
  // falsify.
  struct Lists {
    std::vector<torch::Tensor> params, grads, buffers;
  };
  Lists first, later;
  std::vector<State*> fresh;
  for (size_t k = 0; k < bucket.indices.size(); ++k) {
    State& state = group.states[bucket.indices[k]];
    const bool is_fresh = !state.momentum_buffer.defined();
    if (is_fresh && s.dampening == 0.0) state.momentum_buffer = at::zeros_like(bucket.params[k]);
    Lists& lists = state.momentum_buffer.defined() ? later : first;
    lists.params.push_back(bucket.params[k]);
    lists.grads.push_back(bucket.grads[k]);
    lists.buffers.push_back(state.momentum_buffer.defined() ? state.momentum_buffer : at::zeros_like(bucket.params[k]));
    if (is_fresh && s.dampening != 0.0) fresh.push_back(&state);
  }
  if (!later.params.empty()) kernel(later.params, later.grads, later.buffers, false);
  if (first.params.empty()) return;
  kernel(first.params, first.grads, first.buffers, true);
  // Read back only here, under dampening, until a first update has landed: a skipped one must come first again.
  const bool skipped = bucket.found_inf && bucket.found_inf->item<float>() == 1.0f;
  if (skipped) return;
  for (size_t k = 0; k < fresh.size(); ++k) fresh[k]->momentum_buffer = first.buffers[k];
}

void Optimizer::zero_grad(bool set_to_none) {
  for (Group& group : groups_) {
    for (torch::Tensor& param : group.params) {
      if (!param.grad().defined()) continue;
      if (set_to_none) {
        param.mutable_grad() = torch::Tensor();
      } else {
        param.mutable_grad() = param.grad().detach();
        param.mutable_grad().zero_();
      }
    }
  }
}

std::vector<torch::Tensor> Optimizer::parameters() const {
  std::vector<torch::Tensor> result;
  for (const Group& group : groups_) result.insert(result.end(), group.params.begin(), group.params.end());
  return result;
}

std::vector<torch::Tensor> Optimizer::gradients() const {
  std::vector<torch::Tensor> result;
  for (const torch::Tensor& param : parameters())
    if (param.grad().defined()) result.push_back(param.grad());
  return result;
}

}  // namespace lerobot::optim
