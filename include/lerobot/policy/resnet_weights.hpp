// Pretrained weights of the ResNet backbone: the names that torchvision gives them, the files they come in and where
// those lie on disk. Nothing is downloaded.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "lerobot/policy/resnet.hpp"

namespace lerobot::policy {

// What is wrong with `weights` for the backbone, in words, or nullopt. A weights name is torchvision's
// ("ResNet18_Weights.IMAGENET1K_V1"), the same without the class, or DEFAULT; anything with a '/' or that ends in
// .pth, .pt or .safetensors is a file, and is only looked at when it is loaded.
std::optional<std::string> backbone_weights_problem(std::string_view backbone, std::string_view weights);

// The file name of a valid weights name: "resnet18-f37072fd.pth".
std::string backbone_weights_file_name(std::string_view backbone, std::string_view weights);

// Where PyTorch keeps downloaded checkpoints: $TORCH_HOME/hub/checkpoints, else $XDG_CACHE_HOME/torch/hub/checkpoints,
// else ~/.cache/torch/hub/checkpoints.
std::filesystem::path torch_checkpoint_cache();

// Fills the backbone, leaving out the classifier (fc.*). Throws UsageError: an unknown name, a file that is not there
// (with the command that fetches it), cannot be read, or holds another depth.
void load_backbone_weights(ResNet& backbone, std::string_view name, std::string_view weights);

}  // namespace lerobot::policy
