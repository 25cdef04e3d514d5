#include "lerobot/policy/act/act_config.hpp"

#include <fmt/format.h>
#include <torch/utils.h>

#include <cmath>
#include <numeric>

#include "lerobot/core/text.hpp"
#include "lerobot/optim/optimizer_configs.hpp"
#include "lerobot/policy/resnet.hpp"
#include "lerobot/policy/resnet_weights.hpp"

namespace lerobot::policy {
namespace {

void require_at_least(config::Problems& problems, const char* field, int64_t value, int64_t least) {
  if (value < least) problems.add(field, fmt::format("must be at least {}, got {}", least, value));
}

void require_not_negative(config::Problems& problems, const char* field, double value) {
  if (!(value >= 0.0)) problems.add(field, fmt::format("must be at least 0, got {}", value));
}

}  // namespace

void ACTConfig::fields(config::Visitor& visit) {
  PolicyConfig::fields(visit);
  visit("chunk_size", chunk_size, "Actions predicted at once, in steps of the environment");
  visit("n_action_steps", n_action_steps, "How many of them are carried out before predicting again");
  visit("normalization_mapping", normalization_mapping, "Normalization by feature type");
  visit("vision_backbone", vision_backbone, "resnet18, resnet34, resnet50, resnet101 or resnet152");
  visit("pretrained_backbone_weights", pretrained_backbone_weights,
        "torchvision weights of the backbone by name, a local .pth or .safetensors file, or null for random weights");
  visit("replace_final_stride_with_dilation", replace_final_stride_with_dilation,
        "Keep the resolution in the backbone's last stage and dilate instead (resnet50 and deeper)",
        {.zero_or_one = true});
  visit("pre_norm", pre_norm, "Normalize before each sublayer of the transformer instead of after it");
  visit("dim_model", dim_model, "Width of the transformer");
  visit("n_heads", n_heads, "Attention heads");
  visit("dim_feedforward", dim_feedforward, "Width of the feed-forward layers");
  visit("feedforward_activation", feedforward_activation, "relu or gelu");
  visit("n_encoder_layers", n_encoder_layers, "Layers of the encoder");
  visit("n_decoder_layers", n_decoder_layers, "Layers of the decoder; the original ACT uses 1 in effect");
  visit("use_vae", use_vae, "Train with a variational latent");
  visit("latent_dim", latent_dim, "Size of the latent");
  visit("n_vae_encoder_layers", n_vae_encoder_layers, "Layers of the encoder that infers the latent from the actions");
  visit("temporal_ensemble_coeff", temporal_ensemble_coeff,
        "Average overlapping chunks with weights exp(-coeff * i), i = 0 the oldest; needs n_action_steps 1");
  visit("dropout", dropout, "Dropout of the transformer");
  visit("kl_weight", kl_weight, "Weight of the KL divergence in the loss");
  visit("optimizer_lr", optimizer_lr, "Learning rate of the training preset");
  visit("optimizer_weight_decay", optimizer_weight_decay, "Weight decay of the training preset");
  visit("optimizer_lr_backbone", optimizer_lr_backbone, "Learning rate of the backbone in the training preset");
}

void ACTConfig::validate(config::Problems& problems) const {
  PolicyConfig::validate(problems);
  if (n_obs_steps > 1) problems.add("n_obs_steps", fmt::format("ACT reads one observation; got {}", n_obs_steps));
  require_at_least(problems, "chunk_size", chunk_size, 1);
  require_at_least(problems, "n_action_steps", n_action_steps, 1);
  if (n_action_steps > chunk_size) {
    problems.add("n_action_steps", fmt::format("must be at most chunk_size ({}), got {}", chunk_size, n_action_steps));
  }
  if (temporal_ensemble_coeff && n_action_steps > 1) {
    problems.add("n_action_steps", fmt::format("must be 1 with temporal_ensemble_coeff, which predicts at every step; "
                                               "got {}",
                                               n_action_steps));
  }

  if (!vision_backbone.starts_with("resnet")) {
    problems.add("vision_backbone",
                 fmt::format("must be one of {}, got `{}`", join(resnet_names(), ", "), vision_backbone));
  }
  require_at_least(problems, "dim_model", dim_model, 1);
  require_at_least(problems, "n_heads", n_heads, 1);
  if (n_heads >= 1 && dim_model % n_heads != 0) {
    problems.add("dim_model", fmt::format("must be a multiple of n_heads ({}), got {}", n_heads, dim_model));
  }
  require_at_least(problems, "dim_feedforward", dim_feedforward, 1);
  if (feedforward_activation == "glu") {
    problems.add("feedforward_activation",
                 "glu halves the width that linear2 expects, so no ACT with it can run; use relu or gelu");
  } else if (feedforward_activation != "relu" && feedforward_activation != "gelu") {
    problems.add("feedforward_activation", fmt::format("must be relu or gelu, got `{}`", feedforward_activation));
  }
  require_at_least(problems, "n_encoder_layers", n_encoder_layers, 0);
  require_at_least(problems, "n_decoder_layers", n_decoder_layers, 0);
  require_at_least(problems, "n_vae_encoder_layers", n_vae_encoder_layers, 0);
  require_at_least(problems, "latent_dim", latent_dim, 1);
  if (!(dropout >= 0.0 && dropout <= 1.0)) {
    problems.add("dropout", fmt::format("must be between 0 and 1, got {}", dropout));
  }
  require_not_negative(problems, "optimizer_lr", optimizer_lr);
  require_not_negative(problems, "optimizer_weight_decay", optimizer_weight_decay);
  require_not_negative(problems, "optimizer_lr_backbone", optimizer_lr_backbone);
}

// What only matters where there are images to see with it.
void ACTConfig::validate_backbone(config::Problems& problems) const {
  const auto architecture = resnet_architecture(vision_backbone);
  if (!architecture) {
    const auto names = resnet_names();
    problems.add("vision_backbone", fmt::format("must be one of {}, got `{}`.{}", join(names, ", "), vision_backbone,
                                                did_you_mean(vision_backbone, names)));
    return;
  }
  if (pretrained_backbone_weights) {
    if (const auto problem = backbone_weights_problem(vision_backbone, *pretrained_backbone_weights)) {
      problems.add("pretrained_backbone_weights", *problem);
    }
  }
  if (replace_final_stride_with_dilation && !architecture->bottleneck) {
    problems.add("replace_final_stride_with_dilation",
                 fmt::format("{} cannot be dilated; use resnet50 or deeper, or false", vision_backbone));
  }
  if (dim_model % 4 != 0) {
    problems.add("dim_model", fmt::format("must be a multiple of 4 with cameras, got {}", dim_model));
  }
}

void ACTConfig::validate_features(config::Problems& problems) const {
  const auto cameras = image_features();
  if (!cameras.empty()) validate_backbone(problems);
  if (cameras.empty() && !env_state_feature()) {
    problems.add("input_features", "ACT needs at least one camera or observation.environment_state among its inputs");
  }
  for (const auto& [name, feature] : cameras) {
    if (feature.shape.size() != 3 || feature.shape.front() != 3) {
      problems.add("input_features", fmt::format("`{}` has shape [{}]; the backbone reads cameras of shape "
                                                 "[3, height, width]",
                                                 name, fmt::join(feature.shape, ", ")));
    }
  }
  const auto require_vector = [&](const char* field, const char* name, const PolicyFeature* feature) {
    if (feature && feature->shape.size() != 1) {
      problems.add(field, fmt::format("`{}` has shape [{}]; ACT reads vectors", name, fmt::join(feature->shape, ", ")));
    }
  };
  require_vector("input_features", "observation.state", robot_state_feature());
  require_vector("input_features", "observation.environment_state", env_state_feature());
  require_vector("output_features", "action", action_feature());
  if (!action_feature()) problems.add("output_features", "ACT needs `action` of type ACTION among its outputs");
}

std::optional<std::vector<int64_t>> ACTConfig::action_delta_indices() const {
  std::vector<int64_t> indices(static_cast<size_t>(chunk_size));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

std::unique_ptr<OptimizerConfig> ACTConfig::optimizer_preset() const {
  auto preset = std::make_unique<optim::AdamWConfig>();
  preset->lr = optimizer_lr;
  preset->weight_decay = optimizer_weight_decay;
  return preset;
}

std::unique_ptr<SchedulerConfig> ACTConfig::scheduler_preset() const {
  return nullptr;
}

int64_t ACTConfig::state_dim() const {
  return robot_state_feature() ? robot_state_feature()->shape.front() : 0;
}
int64_t ACTConfig::env_dim() const {
  return env_state_feature() ? env_state_feature()->shape.front() : 0;
}
int64_t ACTConfig::action_dim() const {
  return action_feature() ? action_feature()->shape.front() : 0;
}

}  // namespace lerobot::policy
