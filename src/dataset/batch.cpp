#include "lerobot/dataset/batch.hpp"

#include <fmt/format.h>

#include "lerobot/core/error.hpp"
#include "lerobot/core/text.hpp"

namespace lerobot {

const torch::Tensor& Batch::at(const std::string& key) const {
  if (const auto found = tensors.find(key); found != tensors.end()) return found->second;
  std::vector<std::string> present;
  for (const auto& [name, tensor] : tensors) present.push_back(name);
  throw RunError(fmt::format("The batch has no `{}`; it has: {}", key, join(present, ", ")));
}

}  // namespace lerobot
