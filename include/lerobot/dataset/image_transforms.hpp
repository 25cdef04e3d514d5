// Random changes of the camera frames while training (--dataset.image_transforms.*).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "lerobot/config/image_transforms_config.hpp"

namespace lerobot::dataset {

// What can be done to an image, with everything random decided. Pixels come out as from torchvision 0.26's
// transforms.v2.functional on CPU tensors, of uint8 (0 to 255) or float32 (0 to 1).
struct Brightness {
  double factor = 1.0;
};
struct Contrast {
  double factor = 1.0;  // 0: the mean gray of the image
};
struct Saturation {
  double factor = 1.0;  // 0: gray
};
struct Hue {
  double turns = 0.0;  // -0.5 to 0.5
};
struct Sharpness {
  double factor = 1.0;  // 0: blurred
};
// Rotation, shear and scaling about the center, then translation; x to the right, y down.
struct Affine {
  double degrees = 0.0;
  double translate_x = 0.0;  // pixels
  double translate_y = 0.0;
  double scale = 1.0;
  double shear_x = 0.0;  // degrees
  double shear_y = 0.0;
  bool is_bilinear = false;                          // else the nearest pixel
  std::optional<std::vector<double>> fill{{0.0}};    // what comes from outside, one number or one a channel
  std::optional<std::array<double, 2>> center = {};  // x, y in pixels; nullopt: the middle
};
using ImageOperation = std::variant<Brightness, Contrast, Saturation, Hue, Sharpness, Affine>;

// What a draw depends on, besides the seed.
struct DrawKey {
  int64_t epoch = 0;
  int64_t row = 0;  // of the dataset
  std::string_view camera;
};

// The frames of one sample and camera, [T, C, H, W].
struct FramesShape {
  int64_t frames = 1;
  int64_t channels = 3;
  int64_t height = 0;
  int64_t width = 0;
};

// Draws, for each sample and camera on its own, up to max_num_transforms of the configured transforms: without
// replacement, by weight, and applies them in the order of the configuration, or as drawn with random_order. All frames
// of a sample's window get the same draw. LeRobot's distributions, but not its numbers: a draw is a pure function of
// (seed, epoch, row, camera), so that it does not depend on which thread makes it, nor on what was drawn before.
// Immutable, hence thread-safe; starts no thread and uses no tensor.
class ImageTransforms {
 public:
  // Nothing is ever drawn when the configuration is not enabled. Throws UsageError when it is and is not valid.
  ImageTransforms(const ImageTransformsConfig& config, uint64_t seed);

  // Throws UsageError when a transform cannot be applied to this camera's frames: colors need 1 or 3 channels, a fill
  // list as many numbers as channels.
  void check_camera(std::string_view camera, int64_t channels) const;

  // In the order in which they are applied; height and width scale the translation.
  std::vector<ImageOperation> draw(const DrawKey& key, int64_t height, int64_t width) const;

  // Draws and changes the frames in place.
  void apply(std::span<uint8_t> frames, const FramesShape& shape, const DrawKey& key) const;
  void apply(std::span<float> frames, const FramesShape& shape, const DrawKey& key) const;

 private:
  struct Transform {
    double weight = 1.0;
    ImageTransformArguments arguments;
  };

  std::vector<Transform> transforms_;  // of positive weight
  int64_t num_drawn_ = 0;
  bool random_order_ = false;
  uint64_t seed_ = 0;
};

}  // namespace lerobot::dataset
