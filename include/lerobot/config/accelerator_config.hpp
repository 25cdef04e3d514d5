// --accelerator.* and --parallelism.*: precision and how a run is spread (LeRobot: configs/accelerator.py,
// configs/parallelism.py).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lerobot/config/schema.hpp"

namespace lerobot {

struct GradientAccumulationConfig : config::Section {
  int64_t steps = 1;
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
};

// Loss scaling; acts under mixed_precision=fp16 only. Checked in any case.
struct GradScalerConfig : config::Section {
  double init_scale = 65536.0;
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  int64_t growth_interval = 2000;
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
};

struct FsdpConfig : config::Section {
  bool reshard_after_forward = true;
  std::optional<std::vector<std::string>> wrap_modules;
  std::optional<int64_t> min_num_params;
  bool cpu_offload = false;
  std::optional<std::string> ignored_modules;
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
};

struct DdpConfig : config::Section {
  bool find_unused_parameters = true;
  bool gradient_as_bucket_view = false;
  bool static_graph = false;
  void fields(config::Visitor& visit) override;
};

struct CompileConfig : config::Section {
  bool enabled = false;
  std::string backend = "inductor";
  std::optional<std::string> mode;
  bool regional = true;
  void fields(config::Visitor& visit) override;
};

enum class ActivationCheckpointingMode { kNone, kFull };
std::vector<config::EnumEntry<ActivationCheckpointingMode>> enum_entries(ActivationCheckpointingMode);

struct ActivationCheckpointingConfig : config::Section {
  ActivationCheckpointingMode mode = ActivationCheckpointingMode::kNone;
  void fields(config::Visitor& visit) override;
};

struct AcceleratorConfig : config::Section {
  std::string mixed_precision = "no";  // no, fp16 or bf16; precision::parse turns it into what runs
  GradientAccumulationConfig gradient_accumulation;
  GradScalerConfig grad_scaler;
  FsdpConfig fsdp;
  DdpConfig ddp;
  CompileConfig compile;
  ActivationCheckpointingConfig activation_checkpointing;
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
};

struct ContextParallelConfig : config::Section {
  int64_t ring_degree = 1;
  int64_t ulysses_degree = 1;
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
};

struct ParallelismConfig : config::Section {
  int64_t dp_replicate = 1;
  int64_t dp_shard = 1;
  ContextParallelConfig context_parallel;
  int64_t cfg_parallel = 1;
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
};

}  // namespace lerobot
