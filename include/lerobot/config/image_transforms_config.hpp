// --dataset.image_transforms.*: random changes of the camera frames while training (LeRobot: transforms).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lerobot/config/schema.hpp"

namespace lerobot {

// One augmentation that may be drawn for a frame.
struct ImageTransformConfig : config::Section {
  double weight = 1.0;  // chance to be drawn, relative to the others; 0 or less: never, and nothing of it is checked
  std::string type = "Identity";
  Json kwargs = Json::object();

  ImageTransformConfig() = default;
  ImageTransformConfig(double weight, std::string type, Json kwargs);
  void fields(config::Visitor& visit) override;
};

struct ImageTransformsConfig : config::Section {
  bool enable = false;
  int64_t max_num_transforms = 3;
  bool random_order = false;
  OrderedMap<ImageTransformConfig> tfs;

  ImageTransformsConfig();  // with LeRobot's six transforms
  void fields(config::Visitor& visit) override;
  // Only when enabled: any file that LeRobot reads is read.
  void validate(config::Problems& problems) const override;
};

// The kwargs of each type as they are used, under torchvision's names and rules: a number x stands for the range
// [max(0, 1 - x), 1 + x] of factors, or [-x, x] of hues and angles; null is "not at all".
using Range = std::array<double, 2>;  // {min, max}, both included

struct IdentityArguments {};

struct ColorJitterArguments {
  std::optional<Range> brightness;
  std::optional<Range> contrast;
  std::optional<Range> saturation;
  std::optional<Range> hue;  // turns, -0.5 to 0.5
};

struct SharpnessJitterArguments {
  Range sharpness{};
};

struct RandomAffineArguments {
  Range degrees{};
  std::optional<std::array<double, 2>> translate;  // most, as parts of width and height, either way
  std::optional<Range> scale;
  std::optional<Range> shear_x;  // degrees
  std::optional<Range> shear_y;
  bool is_bilinear = false;                        // interpolation 2; 0 is nearest
  std::optional<std::vector<double>> fill{{0.0}};  // of what comes from outside: one number or one a channel
  std::optional<std::array<double, 2>> center;     // x, y of the rotation, in pixels; null: the middle
};

using ImageTransformArguments =
    std::variant<IdentityArguments, ColorJitterArguments, SharpnessJitterArguments, RandomAffineArguments>;

// Reads type and kwargs. Adds to `problems` what is wrong with them, one message each; then the result is of no use.
ImageTransformArguments read_image_transform(const ImageTransformConfig& transform, std::vector<std::string>& problems);

}  // namespace lerobot
