#include "lerobot/config/image_transforms_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "lerobot/core/text.hpp"

namespace lerobot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Takes the kwargs one by one; those nobody asked for are unknown.
class Kwargs {
 public:
  Kwargs(const ImageTransformConfig& transform, std::vector<std::string>& problems)
      : type_(transform.type), kwargs_(transform.kwargs), problems_(problems) {
    if (!kwargs_.is_object()) add("", "must be a dict");
  }

  // null or a JSON null when it is not given.
  const Json* find(const std::string& name) {
    known_.push_back(name);
    if (!kwargs_.is_object()) return nullptr;
    const auto at = kwargs_.find(name);
    return at == kwargs_.end() || at->is_null() ? nullptr : &*at;
  }

  // `count` finite numbers.
  std::optional<std::vector<double>> numbers(const std::string& name, const Json& value, size_t count) {
    const auto is_number = [](const Json& item) { return item.is_number() && std::isfinite(item.get<double>()); };
    if (!value.is_array() || value.size() != count || !std::ranges::all_of(value, is_number)) return std::nullopt;
    return value.get<std::vector<double>>();
  }

  // Two numbers, or one that stands for [center - x, center + x], no lower than `lowest` (which the other form must
  // keep to, and `highest`).
  std::optional<Range> range(const std::string& name, double center, double lowest, double highest) {
    const Json* value = find(name);
    if (!value) return std::nullopt;
    Range range{};
    if (const auto pair = numbers(name, *value, 2)) {
      range = {(*pair)[0], (*pair)[1]};
    } else if (value->is_number() && std::isfinite(value->get<double>())) {
      const double spread = value->get<double>();
      if (spread < 0.0) {
        add(name, fmt::format("a single number must not be negative, got {}", to_python_json(*value, kOneLine)));
        return std::nullopt;
      }
      range = {center - spread, center + spread};
      if (lowest == 0.0) range[0] = std::max(range[0], 0.0);
    } else {
      add(name, fmt::format("must be a number or [min, max], got {}", to_python_json(*value, kOneLine)));
      return std::nullopt;
    }
    check_range(name, *value, range, lowest, highest);
    return range;
  }

  void check_range(const std::string& name, const Json& value, const Range& range, double lowest, double highest) {
    if (range[0] <= range[1] && range[0] >= lowest && range[1] <= highest) return;
    std::string bounds;
    if (std::isfinite(lowest)) bounds += fmt::format(", {} or more", python_float_repr(lowest));
    if (std::isfinite(highest)) bounds += fmt::format(", {} or less", python_float_repr(highest));
    add(name, fmt::format("must be [min, max] with min <= max{}, got {}", bounds, to_python_json(value, kOneLine)));
  }

  void add(std::string_view name, std::string_view message) {
    problems_.push_back(fmt::format("kwargs{}{}: {}", name.empty() ? "" : ".", name, message));
  }

  void refuse_unknown() {
    if (!kwargs_.is_object()) return;
    for (const auto& [name, value] : kwargs_.items()) {
      if (std::ranges::find(known_, name) != known_.end()) continue;
      add(name, known_.empty() ? fmt::format("{} takes no kwargs", type_)
                               : fmt::format("unknown; {} takes {}", type_, join(known_, ", ")));
    }
  }

  static constexpr JsonStyle kOneLine{.indent = -1};

 private:
  const std::string& type_;
  const Json& kwargs_;
  std::vector<std::string>& problems_;
  std::vector<std::string> known_;
};

ColorJitterArguments read_color_jitter(Kwargs& kwargs) {
  return {.brightness = kwargs.range("brightness", 1.0, 0.0, kInfinity),
          .contrast = kwargs.range("contrast", 1.0, 0.0, kInfinity),
          .saturation = kwargs.range("saturation", 1.0, 0.0, kInfinity),
          .hue = kwargs.range("hue", 0.0, -0.5, 0.5)};
}

SharpnessJitterArguments read_sharpness_jitter(Kwargs& kwargs) {
  const bool is_given = kwargs.find("sharpness") != nullptr;
  if (!is_given) kwargs.add("sharpness", "must be given");
  return {kwargs.range("sharpness", 1.0, 0.0, kInfinity).value_or(Range{1.0, 1.0})};
}

std::optional<std::array<double, 2>> read_pair(Kwargs& kwargs, const std::string& name, double lowest, double highest,
                                               std::string_view wanted) {
  const Json* value = kwargs.find(name);
  if (!value) return std::nullopt;
  const auto pair = kwargs.numbers(name, *value, 2);
  if (pair && std::ranges::all_of(*pair, [&](double number) { return number >= lowest && number <= highest; }))
    return std::array<double, 2>{(*pair)[0], (*pair)[1]};
  kwargs.add(name, fmt::format("must be {}, got {}", wanted, to_python_json(*value, Kwargs::kOneLine)));
  return std::nullopt;
}

void read_scale(Kwargs& kwargs, RandomAffineArguments& affine) {
  affine.scale =
      read_pair(kwargs, "scale", std::numeric_limits<double>::min(), kInfinity, "[min, max] of two positive numbers");
  if (affine.scale) kwargs.check_range("scale", Json(*affine.scale), *affine.scale, 0.0, kInfinity);
}

// A number or [min, max]: along x alone; [x min, x max, y min, y max].
void read_shear(Kwargs& kwargs, RandomAffineArguments& affine) {
  const Json* value = kwargs.find("shear");
  if (!value) return;
  const auto four = kwargs.numbers("shear", *value, 4);
  if (!four) {
    affine.shear_x = kwargs.range("shear", 0.0, -kInfinity, kInfinity);
    return;
  }
  affine.shear_x = Range{(*four)[0], (*four)[1]};
  affine.shear_y = Range{(*four)[2], (*four)[3]};
  kwargs.check_range("shear", *value, *affine.shear_x, -kInfinity, kInfinity);
  kwargs.check_range("shear", *value, *affine.shear_y, -kInfinity, kInfinity);
}

void read_interpolation(Kwargs& kwargs, RandomAffineArguments& affine) {
  const Json* value = kwargs.find("interpolation");
  if (!value) return;
  if (*value != 0 && *value != 2)
    kwargs.add("interpolation",
               fmt::format("must be 0 (nearest) or 2 (bilinear), got {}", to_python_json(*value, Kwargs::kOneLine)));
  affine.is_bilinear = *value == 2;
}

// `is_null`: given as null, which is not the same as 0 when it is bilinear.
void read_fill(Kwargs& kwargs, bool is_null, RandomAffineArguments& affine) {
  const Json* value = kwargs.find("fill");
  if (is_null) affine.fill.reset();
  if (!value) return;
  const Json list = value->is_array() ? *value : Json::array({*value});
  const auto numbers = kwargs.numbers("fill", list, list.size());
  const auto is_pixel = [](double number) { return number >= 0.0 && number <= 255.0; };
  if (numbers && !numbers->empty() && std::ranges::all_of(*numbers, is_pixel)) {
    affine.fill = *numbers;
  } else {
    kwargs.add("fill", fmt::format("must be a number from 0 to 255 or a list of them, one a channel, got {}",
                                   to_python_json(*value, Kwargs::kOneLine)));
  }
}

RandomAffineArguments read_random_affine(Kwargs& kwargs, const Json& given) {
  RandomAffineArguments affine;
  if (!kwargs.find("degrees")) kwargs.add("degrees", "must be given");
  affine.degrees = kwargs.range("degrees", 0.0, -kInfinity, kInfinity).value_or(Range{});
  affine.translate = read_pair(kwargs, "translate", 0.0, 1.0, "two numbers from 0 to 1");
  read_scale(kwargs, affine);
  read_shear(kwargs, affine);
  read_interpolation(kwargs, affine);
  read_fill(kwargs, given.is_object() && given.contains("fill") && given["fill"].is_null(), affine);
  affine.center = read_pair(kwargs, "center", -kInfinity, kInfinity, "two numbers, x and y in pixels");
  return affine;
}

}  // namespace

ImageTransformConfig::ImageTransformConfig(double weight, std::string type, Json kwargs)
    : weight(weight), type(std::move(type)), kwargs(std::move(kwargs)) {}

void ImageTransformConfig::fields(config::Visitor& visit) {
  visit("weight", weight, "Chance of being drawn, relative to the others");
  visit("type", type, "Identity, ColorJitter, SharpnessJitter or RandomAffine");
  visit("kwargs", kwargs, "Arguments of the transform");
}

ImageTransformsConfig::ImageTransformsConfig()
    : tfs{{"brightness", {1.0, "ColorJitter", {{"brightness", {0.8, 1.2}}}}},
          {"contrast", {1.0, "ColorJitter", {{"contrast", {0.8, 1.2}}}}},
          {"saturation", {1.0, "ColorJitter", {{"saturation", {0.5, 1.5}}}}},
          {"hue", {1.0, "ColorJitter", {{"hue", {-0.05, 0.05}}}}},
          {"sharpness", {1.0, "SharpnessJitter", {{"sharpness", {0.5, 1.5}}}}},
          {"affine", {1.0, "RandomAffine", {{"degrees", {-5.0, 5.0}}, {"translate", {0.05, 0.05}}}}}} {}

void ImageTransformsConfig::fields(config::Visitor& visit) {
  visit("enable", enable, "Augment the camera frames while training");
  visit("max_num_transforms", max_num_transforms, "Most transforms drawn for one frame");
  visit("random_order", random_order, "Apply the drawn transforms in random order");
  visit("tfs", tfs, "The transforms to draw from");
}

void ImageTransformsConfig::validate(config::Problems& problems) const {
  if (!enable) return;
  if (max_num_transforms < 0)
    problems.add("max_num_transforms", fmt::format("must not be negative, got {}", max_num_transforms));
  const auto scope = problems.enter("tfs");
  for (const auto& [name, transform] : tfs) {
    if (transform.weight <= 0.0) continue;
    const auto item = problems.enter_item(name);
    if (!std::isfinite(transform.weight))
      problems.add("weight", fmt::format("must be a finite number, got {}", python_float_repr(transform.weight)));
    std::vector<std::string> wrong;
    read_image_transform(transform, wrong);
    for (const std::string& message : wrong) problems.add("", message);
  }
}

ImageTransformArguments read_image_transform(const ImageTransformConfig& transform,
                                             std::vector<std::string>& problems) {
  Kwargs kwargs(transform, problems);
  ImageTransformArguments arguments;
  if (transform.type == "ColorJitter") {
    arguments = read_color_jitter(kwargs);
  } else if (transform.type == "SharpnessJitter") {
    arguments = read_sharpness_jitter(kwargs);
  } else if (transform.type == "RandomAffine") {
    arguments = read_random_affine(kwargs, transform.kwargs);
  } else if (transform.type != "Identity") {
    problems.push_back(
        fmt::format("type '{}' is not supported; supported are Identity, ColorJitter, SharpnessJitter and RandomAffine "
                    "(a weight of 0 leaves it out)",
                    transform.type));
    return arguments;
  }
  kwargs.refuse_unknown();
  return arguments;
}

}  // namespace lerobot
