// From a pretrained_model folder into a policy.
#pragma once

#include <filesystem>

#include "lerobot/policy/policy.hpp"

namespace lerobot::checkpoint {

// Copies the folder's weights (checkpoint.hpp, load_weights) into the policy. The log says what did not fit: tensors
// that are missing, that the policy does not have, that were converted. Throws UsageError as policy::load_state_dict
// does.
void load_policy_weights(policy::Policy& policy, const std::filesystem::path& pretrained_model_directory);

}  // namespace lerobot::checkpoint
