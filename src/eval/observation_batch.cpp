#include "lerobot/eval/observation_batch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/generated/variable_factories.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "lerobot/core/error.hpp"

namespace lerobot::eval {
namespace {

constexpr std::string_view kPixels = "pixels";
constexpr std::string_view kPixelsOf = "pixels/";

torch::ScalarType scalar_type(env::ElementType type) {
  switch (type) {
    case env::ElementType::kUint8:
      return torch::kUInt8;
    case env::ElementType::kInt64:
      return torch::kInt64;
    case env::ElementType::kFloat32:
      return torch::kFloat32;
    case env::ElementType::kFloat64:
      return torch::kFloat64;
  }
  throw std::logic_error("not an ElementType");
}

torch::Tensor to_tensor(const env::Array& array) {
  torch::Tensor tensor = torch::empty(array.shape, scalar_type(array.type));
  if (tensor.nbytes() != array.bytes.size()) throw std::logic_error("an array's bytes do not fill its shape");
  if (!array.bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), array.bytes.data(), array.bytes.size());
  return tensor;
}

// Whether a batch of arrays is one of pictures: uint8 [B, H, W, C] with fewer channels than rows and columns.
bool holds_pictures(const env::Array& array) {
  const auto& shape = array.shape;
  return array.type == env::ElementType::kUint8 && shape.size() == 4 && shape[3] < shape[1] && shape[3] < shape[2];
}

// uint8 [B, H, W, C] -> float32 [B, C, H, W] in [0, 1].
torch::Tensor to_float_pictures(const std::string& path, const env::Array& array) {
  if (!holds_pictures(array)) {
    const std::vector<int64_t> shape(array.shape.begin() + (array.shape.empty() ? 0 : 1), array.shape.end());
    throw UsageError(
        fmt::format("the environment's observation '{}' must be a picture, uint8 [height, width, channels], "
                    "got {} [{}]",
                    path, env::element_type_name(array.type), fmt::join(shape, ", ")));
  }
  return to_tensor(array).permute({0, 3, 1, 2}).contiguous().to(torch::kFloat32).div_(255);
}

std::string dotted(std::string path) {
  std::replace(path.begin(), path.end(), '/', '.');
  return path;
}

bool keeps_its_type(const std::string& path) {
  return path == "policy" || path == "camera_obs" || path == "robot_state" || path.starts_with("robot_state/");
}

std::pair<std::string, torch::Tensor> feature_of(const std::string& path, const env::Array& array) {
  if (path == kPixels) return {"observation.image", to_float_pictures(path, array)};
  if (path.starts_with(kPixelsOf)) {
    return {"observation.images." + dotted(path.substr(kPixelsOf.size())), to_float_pictures(path, array)};
  }
  if (path == env::kRootPath && holds_pictures(array)) return {"observation.image", to_float_pictures(path, array)};
  if (keeps_its_type(path)) return {"observation." + dotted(path), to_tensor(array)};
  const bool is_state = path == "agent_pos" || path == env::kRootPath;
  return {"observation." + (is_state ? "state" : dotted(path)), to_tensor(array).to(torch::kFloat32)};
}

}  // namespace

Batch observation_batch(std::span<const env::Observation> observations, std::vector<std::string> tasks) {
  Batch batch;
  for (const auto& [path, array] : env::stack(observations)) {
    auto [key, tensor] = feature_of(path, array);
    const auto [place, is_new] = batch.tensors.emplace(key, std::move(tensor));
    if (!is_new) throw UsageError(fmt::format("two of the environment's observations would be called `{}`", key));
  }
  batch.task = std::move(tasks);
  return batch;
}

}  // namespace lerobot::eval
