// From the environments' names and types to a policy's (LeRobot: envs/utils.py, preprocess_observation).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lerobot/dataset/batch.hpp"
#include "lerobot/env/observation.hpp"

namespace lerobot::eval {

// One batch of the observations of B environments, in main memory, with a time axis nowhere:
//   pixels             uint8 [H, W, C]   -> observation.image          float32 [B, C, H, W], x / 255
//   pixels/<camera>    uint8 [H, W, C]   -> observation.images.<camera>   the same
//   agent_pos          any [D]           -> observation.state          float32 [B, D]
//   environment_state  any [D]           -> observation.environment_state
//   robot_state/...    any               -> observation.robot_state...   dtype kept, '/' as '.'
//   policy, camera_obs any               -> observation.policy, observation.camera_obs   dtype kept
//   any other path     any               -> observation.<path>         float32, '/' as '.'
//   the root array     uint8 [H, W, C]   -> observation.image, any other [D] -> observation.state   (LeRobot has no
//   name
//                                           for it, so cannot evaluate on such environments)
// `tasks`: the sentence for each environment. Throws RunError when the environments' observations differ in kind, and
// UsageError for a picture that is not uint8 with its channels last, naming its path.
Batch observation_batch(std::span<const env::Observation> observations, std::vector<std::string> tasks);

}  // namespace lerobot::eval
