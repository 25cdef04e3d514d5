// The dtypes of torch.save's files, by the storage class that stands for each.
#pragma once

#include <torch/types.h>

#include <array>
#include <string_view>

namespace lerobot {

struct StorageClass {
  std::string_view name;  // "torch.<name>" in Python
  at::ScalarType dtype;
};

inline constexpr std::array<StorageClass, 4> kStorageClasses{{{"FloatStorage", at::kFloat},
                                                              {"HalfStorage", at::kHalf},
                                                              {"BFloat16Storage", at::kBFloat16},
                                                              {"LongStorage", at::kLong}}};

}  // namespace lerobot
