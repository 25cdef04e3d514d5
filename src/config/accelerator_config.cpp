#include "lerobot/config/accelerator_config.hpp"

#include <fmt/format.h>

#include <cmath>

namespace lerobot {
namespace {

constexpr config::FieldOptions kNotYet{.implemented = false};

void require_at_least_one(config::Problems& problems, const char* field, int64_t value) {
  if (value < 1) problems.add(field, fmt::format("must be at least 1, got {}", value));
}

}  // namespace

void GradientAccumulationConfig::fields(config::Visitor& visit) {
  visit("steps", steps, "Batches whose gradients are added up before an update");
}
void GradientAccumulationConfig::validate(config::Problems& problems) const {
  require_at_least_one(problems, "steps", steps);
}

void GradScalerConfig::fields(config::Visitor& visit) {
  visit("init_scale", init_scale, "Loss scale at the start of a run");
  visit("growth_factor", growth_factor, "The scale is multiplied by this after growth_interval clean updates");
  visit("backoff_factor", backoff_factor, "The scale is multiplied by this after an overflow");
  visit("growth_interval", growth_interval, "Clean updates in a row before the scale grows");
}
void GradScalerConfig::validate(config::Problems& problems) const {
  // Written so that nan fails too.
  const auto text = [](double value) { return python_float_repr(value); };
  if (!(init_scale > 0.0) || std::isinf(init_scale)) {
    problems.add("init_scale", fmt::format("must be finite and above 0, got {}", text(init_scale)));
  }
  if (!(growth_factor > 1.0) || std::isinf(growth_factor)) {
    problems.add("growth_factor", fmt::format("must be finite and above 1, got {}", text(growth_factor)));
  }
  if (!(backoff_factor > 0.0 && backoff_factor < 1.0)) {
    problems.add("backoff_factor", fmt::format("must be between 0 and 1, both excluded, got {}", text(backoff_factor)));
  }
  require_at_least_one(problems, "growth_interval", growth_interval);
}

void FsdpConfig::fields(config::Visitor& visit) {
  visit("reshard_after_forward", reshard_after_forward, "Free gathered parameters between forward and backward");
  visit("wrap_modules", wrap_modules, "Module classes that are sharded as units");
  visit("min_num_params", min_num_params, "Shard modules with at least this many parameters as units");
  visit("cpu_offload", cpu_offload, "Keep sharded parameters in main memory");
  visit("ignored_modules", ignored_modules, "Pattern of modules that are left whole");
}
void FsdpConfig::validate(config::Problems& problems) const {
  if (min_num_params) require_at_least_one(problems, "min_num_params", *min_num_params);
  if (min_num_params && wrap_modules) {
    problems.add("min_num_params", "excludes --accelerator.fsdp.wrap_modules: give one of them");
  }
}

void DdpConfig::fields(config::Visitor& visit) {
  visit("find_unused_parameters", find_unused_parameters, "Look for parameters without a gradient at every step");
  visit("gradient_as_bucket_view", gradient_as_bucket_view, "Let gradients share the memory of communication buckets");
  visit("static_graph", static_graph, "Promise that every step uses the same parameters");
}

void CompileConfig::fields(config::Visitor& visit) {
  visit("enabled", enabled, "Compile the policy");
  visit("backend", backend, "Compiler");
  visit("mode", mode, "Compiler mode");
  visit("regional", regional, "Compile repeated blocks once instead of the whole policy");
}

std::vector<config::EnumEntry<ActivationCheckpointingMode>> enum_entries(ActivationCheckpointingMode) {
  return {{ActivationCheckpointingMode::kNone, "none", "NONE"}, {ActivationCheckpointingMode::kFull, "full", "FULL"}};
}

void ActivationCheckpointingConfig::fields(config::Visitor& visit) {
  visit("mode", mode, "Recompute activations in the backward pass to save memory");
}

void AcceleratorConfig::fields(config::Visitor& visit) {
  visit("mixed_precision", mixed_precision, "Forward and backward pass in: no (float32), bf16, fp16");
  visit("gradient_accumulation", gradient_accumulation, "Gradient accumulation");
  visit("grad_scaler", grad_scaler, "Loss scaling under fp16", {.newer_than_0_6_1 = true});
  visit("fsdp", fsdp, "Sharded training", kNotYet);
  visit("ddp", ddp, "Data-parallel training", kNotYet);
  visit("compile", compile, "Compilation", kNotYet);
  visit("activation_checkpointing", activation_checkpointing, "Activation checkpointing", kNotYet);
}
void AcceleratorConfig::validate(config::Problems& problems) const {
  // Whether the device can run it is known once there is a device: precision::resolve_precision.
  if (mixed_precision != "no" && mixed_precision != "bf16" && mixed_precision != "fp16") {
    problems.add("mixed_precision", fmt::format("must be no, bf16 or fp16, got '{}'", mixed_precision));
  }
}

void ContextParallelConfig::fields(config::Visitor& visit) {
  visit("ring_degree", ring_degree, "Processes in a ring over one sequence", kNotYet);
  visit("ulysses_degree", ulysses_degree, "Processes that share the heads of one sequence", kNotYet);
}
void ContextParallelConfig::validate(config::Problems& problems) const {
  require_at_least_one(problems, "ring_degree", ring_degree);
  require_at_least_one(problems, "ulysses_degree", ulysses_degree);
}

void ParallelismConfig::fields(config::Visitor& visit) {
  visit("dp_replicate", dp_replicate, "Processes that each hold the whole policy", kNotYet);
  visit("dp_shard", dp_shard, "Processes that hold a part of the policy each; -1: all there are", kNotYet);
  visit("context_parallel", context_parallel, "Splitting of sequences");
  visit("cfg_parallel", cfg_parallel, "Processes for classifier-free guidance: 1 or 2", kNotYet);
}
void ParallelismConfig::validate(config::Problems& problems) const {
  require_at_least_one(problems, "dp_replicate", dp_replicate);
  if (dp_shard != -1 && dp_shard < 1) {
    problems.add("dp_shard", fmt::format("must be at least 1, or -1 for all processes, got {}", dp_shard));
  }
  if (cfg_parallel != 1 && cfg_parallel != 2) {
    problems.add("cfg_parallel", fmt::format("must be 1 or 2, got {}", cfg_parallel));
  }
}

}  // namespace lerobot
