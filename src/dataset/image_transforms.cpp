#include "lerobot/dataset/image_transforms.hpp"

#include <ATen/core/PhiloxRNGEngine.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "image_transform_operations.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/random.hpp"

namespace lerobot::dataset {
namespace {

// FNV-1a.
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char character : text) hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3;
  return hash;
}

// The random numbers of one draw: a Philox stream of its own for each key.
class DrawStream {
 public:
  DrawStream(uint64_t seed, const DrawKey& key)
      : engine_(seed_sequence_state(std::array<uint64_t, 4>{seed, static_cast<uint64_t>(key.epoch),
                                                            static_cast<uint64_t>(key.row), hash_of(key.camera)})) {}

  double uniform(double from, double to) { return from + static_cast<double>(engine_()) * 0x1p-32 * (to - from); }
  double uniform(const Range& range) { return uniform(range[0], range[1]); }
  // Of `count` things, each equally likely.
  size_t index(size_t count) { return static_cast<size_t>(uniform(0.0, static_cast<double>(count))); }

 private:
  at::philox_engine engine_;
};

void draw_operations(const IdentityArguments&, int64_t, int64_t, DrawStream&, std::vector<ImageOperation>&) {}

// Its up to four changes come in random order.
void draw_operations(const ColorJitterArguments& jitter, int64_t, int64_t, DrawStream& random,
                     std::vector<ImageOperation>& operations) {
  const auto first = std::ssize(operations);
  if (jitter.brightness) operations.emplace_back(Brightness{random.uniform(*jitter.brightness)});
  if (jitter.contrast) operations.emplace_back(Contrast{random.uniform(*jitter.contrast)});
  if (jitter.saturation) operations.emplace_back(Saturation{random.uniform(*jitter.saturation)});
  if (jitter.hue) operations.emplace_back(Hue{random.uniform(*jitter.hue)});
  const std::span<ImageOperation> drawn = std::span(operations).subspan(first);
  for (size_t left = drawn.size(); left > 1; --left) std::swap(drawn[left - 1], drawn[random.index(left)]);
}

void draw_operations(const SharpnessJitterArguments& jitter, int64_t, int64_t, DrawStream& random,
                     std::vector<ImageOperation>& operations) {
  operations.emplace_back(Sharpness{random.uniform(jitter.sharpness)});
}

void draw_operations(const RandomAffineArguments& random_affine, int64_t height, int64_t width, DrawStream& random,
                     std::vector<ImageOperation>& operations) {
  Affine affine{.is_bilinear = random_affine.is_bilinear, .fill = random_affine.fill, .center = random_affine.center};
  affine.degrees = random.uniform(random_affine.degrees);
  if (random_affine.translate) {
    const double most_x = (*random_affine.translate)[0] * static_cast<double>(width);
    const double most_y = (*random_affine.translate)[1] * static_cast<double>(height);
    affine.translate_x = std::nearbyint(random.uniform(-most_x, most_x));
    affine.translate_y = std::nearbyint(random.uniform(-most_y, most_y));
  }
  if (random_affine.scale) affine.scale = random.uniform(*random_affine.scale);
  if (random_affine.shear_x) affine.shear_x = random.uniform(*random_affine.shear_x);
  if (random_affine.shear_y) affine.shear_y = random.uniform(*random_affine.shear_y);
  operations.emplace_back(std::move(affine));
}

// One of the choices, by weight, taken out of them.
size_t take(std::vector<std::pair<double, size_t>>& choices, DrawStream& random) {
  double total = 0.0;
  for (const auto& [weight, index] : choices) total += weight;
  double left = random.uniform(0.0, total);
  auto chosen = choices.begin();
  while (left >= chosen->first && std::next(chosen) != choices.end()) left -= (chosen++)->first;
  const size_t index = chosen->second;
  choices.erase(chosen);
  return index;
}

template <typename Pixel>
void apply_all(const std::vector<ImageOperation>& operations, std::span<Pixel> frames, const FramesShape& shape) {
  const int64_t pixels = shape.channels * shape.height * shape.width;
  for (int64_t frame = 0; frame < shape.frames; ++frame) {
    const ImageView<Pixel> image{frames.subspan(frame * pixels, pixels), shape.channels, shape.height, shape.width};
    for (const ImageOperation& operation : operations)
      std::visit([&](const auto& chosen) { lerobot::dataset::apply(chosen, image); }, operation);
  }
}

}  // namespace

ImageTransforms::ImageTransforms(const ImageTransformsConfig& config, uint64_t seed)
    : random_order_(config.random_order), seed_(seed) {
  if (!config.enable) return;
  config::Problems problems;
  {
    const auto dataset = problems.enter("dataset");
    const auto section = problems.enter("image_transforms");
    config.validate(problems);
  }
  problems.throw_if_any();
  std::vector<std::string> none;
  for (const auto& [name, transform] : config.tfs) {
    if (transform.weight > 0.0) transforms_.push_back({transform.weight, read_image_transform(transform, none)});
  }
  num_drawn_ = std::min(std::ssize(transforms_), config.max_num_transforms);
}

void ImageTransforms::check_camera(std::string_view camera, int64_t channels) const {
  if (num_drawn_ == 0) return;
  for (const Transform& transform : transforms_) {
    const auto* affine = std::get_if<RandomAffineArguments>(&transform.arguments);
    const bool changes_colors = !affine && !std::holds_alternative<IdentityArguments>(transform.arguments);
    if (changes_colors && channels != 1 && channels != 3)
      throw UsageError(fmt::format(
          "--dataset.image_transforms: colors and sharpness of camera `{}` cannot be changed, it has {} channels, not "
          "1 or 3. Set --dataset.image_transforms.enable=false, or leave these transforms out of "
          "--dataset.image_transforms.tfs",
          camera, channels));
    if (affine && affine->fill && affine->fill->size() > 1 && std::ssize(*affine->fill) != channels)
      throw UsageError(fmt::format(
          "--dataset.image_transforms.tfs: the fill of RandomAffine has {} numbers, camera `{}` has {} channels",
          affine->fill->size(), camera, channels));
  }
}

std::vector<ImageOperation> ImageTransforms::draw(const DrawKey& key, int64_t height, int64_t width) const {
  DrawStream random(seed_, key);
  std::vector<std::pair<double, size_t>> choices;
  for (const Transform& transform : transforms_) choices.emplace_back(transform.weight, choices.size());
  std::vector<size_t> drawn(num_drawn_);
  for (size_t& index : drawn) index = take(choices, random);
  if (!random_order_) std::ranges::sort(drawn);

  std::vector<ImageOperation> operations;
  for (const size_t index : drawn) {
    std::visit([&](const auto& arguments) { draw_operations(arguments, height, width, random, operations); },
               transforms_[index].arguments);
  }
  return operations;
}

void ImageTransforms::apply(std::span<uint8_t> frames, const FramesShape& shape, const DrawKey& key) const {
  apply_all(draw(key, shape.height, shape.width), frames, shape);
}

void ImageTransforms::apply(std::span<float> frames, const FramesShape& shape, const DrawKey& key) const {
  apply_all(draw(key, shape.height, shape.width), frames, shape);
}

}  // namespace lerobot::dataset
