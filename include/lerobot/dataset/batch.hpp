// What the loader hands to the processor, and the processor to the policy.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lerobot {

// One batch, keyed by feature name. With B samples, T delta timestamps:
//   video camera          uint8   [B, C, H, W] or [B, T, C, H, W]; float32 in [0, 1] after `to_float_images`
//   image-dtype camera    float32 [B, C, H, W] or [B, T, C, H, W], in [0, 1]
//   vector feature        float32 [B, D] or [B, T, D]
//   shape-[1] feature     [B] or [B, T]   (no trailing dimension, as LeRobot)
//   index, frame_index, episode_index, task_index  int64 [B]; timestamp float32 [B], seconds
//   <key>_is_pad          bool    [B, T], true where the window left the episode
struct Batch {
  std::map<std::string, torch::Tensor> tensors;
  std::vector<std::string> task;  // the sentence of each sample's task, B entries

  bool contains(const std::string& key) const { return tensors.count(key) != 0; }
  const torch::Tensor& at(const std::string& key) const;  // throws RunError naming the key and those present
};

}  // namespace lerobot
