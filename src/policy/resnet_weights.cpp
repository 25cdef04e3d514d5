#include "lerobot/policy/resnet_weights.hpp"

#include <fmt/format.h>
#include <torch/utils.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "lerobot/core/error.hpp"
#include "lerobot/core/safetensors.hpp"
#include "lerobot/core/text.hpp"
#include "lerobot/core/torch_pickle.hpp"

namespace lerobot::policy {
namespace {

constexpr const char* kFlag = "--policy.pretrained_backbone_weights";
constexpr std::string_view kDownloads = "https://download.pytorch.org/models/";

// One set of published weights; the eight digits are the first of the file's SHA-256 (torchvision/models/resnet.py).
struct Published {
  std::string_view backbone;
  std::string_view version;
  std::string_view file;
};
// The last of each backbone is its DEFAULT.
constexpr std::array<Published, 8> kPublished{{
    {"resnet18", "IMAGENET1K_V1", "resnet18-f37072fd.pth"},
    {"resnet34", "IMAGENET1K_V1", "resnet34-b627a593.pth"},
    {"resnet50", "IMAGENET1K_V1", "resnet50-0676ba61.pth"},
    {"resnet50", "IMAGENET1K_V2", "resnet50-11ad3fa6.pth"},
    {"resnet101", "IMAGENET1K_V1", "resnet101-63fe2227.pth"},
    {"resnet101", "IMAGENET1K_V2", "resnet101-cd907fc2.pth"},
    {"resnet152", "IMAGENET1K_V1", "resnet152-394f9c45.pth"},
    {"resnet152", "IMAGENET1K_V2", "resnet152-f82ba261.pth"},
}};

bool is_file(std::string_view weights) {
  return weights.find('/') != std::string_view::npos || weights.ends_with(".pth") || weights.ends_with(".pt") ||
         weights.ends_with(".safetensors");
}

// "resnet18" -> "ResNet18_Weights".
std::string weights_class(std::string_view backbone) {
  constexpr std::string_view kPrefix = "resnet";
  return fmt::format("ResNet{}_Weights", backbone.substr(kPrefix.size()));
}

const Published* find_published(std::string_view backbone, std::string_view weights) {
  const std::string prefix = weights_class(backbone) + ".";
  if (weights.starts_with(prefix)) weights.remove_prefix(prefix.size());
  const Published* found = nullptr;
  for (const Published& published : kPublished) {
    if (published.backbone == backbone && (weights == published.version || weights == "DEFAULT")) found = &published;
  }
  return found;
}

std::string known_weights(std::string_view backbone) {
  std::vector<std::string> names;
  for (const Published& published : kPublished) {
    if (published.backbone == backbone) {
      names.push_back(fmt::format("{}.{}", weights_class(backbone), published.version));
    }
  }
  return join(names, ", ");
}

std::optional<std::filesystem::path> environment_path(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? std::optional<std::filesystem::path>(value) : std::nullopt;
}

// The file that holds the weights; throws when it is not on disk.
std::filesystem::path find_weights(std::string_view backbone, std::string_view weights) {
  if (is_file(weights)) {
    std::filesystem::path path(weights);
    if (std::filesystem::is_regular_file(path)) return path;
    throw UsageError(
        fmt::format("{}: there is no file {}; give the path of a .pth or .safetensors file with "
                    "torchvision's tensor names, a weights name ({}), or null for random initial weights",
                    kFlag, path.string(), known_weights(backbone)));
  }
  const std::string name = backbone_weights_file_name(backbone, weights);
  std::filesystem::path path = torch_checkpoint_cache() / name;
  if (std::filesystem::is_regular_file(path)) return path;
  throw UsageError(
      fmt::format("{}: the pretrained weights {} of {} are not on this machine. Fetch them with\n"
                  "  curl -L --create-dirs -o '{}' {}{}\n"
                  "or start from random weights with {}=null",
                  kFlag, weights, backbone, path.string(), kDownloads, name, kFlag));
}

TensorMap read_weights(const std::filesystem::path& path) {
  return path.extension() == ".safetensors" ? load_safetensors(path) : load_torch_checkpoint(path);
}

}  // namespace

std::optional<std::string> backbone_weights_problem(std::string_view backbone, std::string_view weights) {
  if (is_file(weights) || find_published(backbone, weights)) return std::nullopt;
  return fmt::format(
      "`{}` names no weights of {}; accepted are {}, DEFAULT, the path of a .pth or .safetensors file, "
      "and null for random initial weights (change it together with vision_backbone)",
      weights, backbone, known_weights(backbone));
}

std::string backbone_weights_file_name(std::string_view backbone, std::string_view weights) {
  const Published* published = find_published(backbone, weights);
  if (!published) throw UsageError(fmt::format("{}: {}", kFlag, *backbone_weights_problem(backbone, weights)));
  return std::string(published->file);
}

std::filesystem::path torch_checkpoint_cache() {
  const std::filesystem::path below = std::filesystem::path("hub") / "checkpoints";
  if (const auto torch_home = environment_path("TORCH_HOME")) return *torch_home / below;
  if (const auto cache_home = environment_path("XDG_CACHE_HOME")) return *cache_home / "torch" / below;
  return environment_path("HOME").value_or("~") / ".cache" / "torch" / below;
}

void load_backbone_weights(ResNet& backbone, std::string_view name, std::string_view weights) {
  const std::filesystem::path path = find_weights(name, weights);
  const TensorMap tensors = read_weights(path);

  const auto parameters = backbone.named_parameters();
  const auto buffers = backbone.named_buffers();
  std::vector<std::pair<torch::Tensor, torch::Tensor>> copies;  // to, from
  const auto collect = [&](const std::string& key, const torch::Tensor& to) {
    const auto found = tensors.find(key);
    if (found == tensors.end() || found->second.sizes() != to.sizes()) {
      throw UsageError(fmt::format(
          "{}: {} does not hold the weights of {}: `{}` {}. Is --policy.vision_backbone of the file's depth?", kFlag,
          path.string(), name, key,
          found == tensors.end() ? "is missing"
                                 : fmt::format("is [{}], not [{}]", fmt::join(found->second.sizes().vec(), ", "),
                                               fmt::join(to.sizes().vec(), ", "))));
    }
    copies.emplace_back(to, found->second);
  };
  for (const auto& parameter : parameters) collect(parameter.key(), parameter.value());
  for (const auto& buffer : buffers) collect(buffer.key(), buffer.value());
  // The reverse: a shallower file lacks tensors, a deeper one has some to spare.
  for (const auto& [key, _] : tensors) {
    const bool is_expected = key.starts_with("fc.") || key.ends_with(".num_batches_tracked") ||
                             parameters.contains(key) || buffers.contains(key);
    if (!is_expected) {
      throw UsageError(
          fmt::format("{}: {} does not hold the weights of {}: it has `{}` besides. Is --policy.vision_backbone of the "
                      "file's depth?",
                      kFlag, path.string(), name, key));
    }
  }
  torch::NoGradGuard no_grad;
  for (const auto& [to, from] : copies) to.copy_(from);
}

}  // namespace lerobot::policy
