// The random states of training_state/rng_state.safetensors. Source: LeRobot's utils/random_utils.py.
//   py_rng_version I64[1] = 3, py_rng_state I64[625] (624 words and the position)
//   np_rng_state_values I64[624], np_rng_state_index I64[1], np_rng_has_gauss I64[1], np_rng_cached_gaussian F32[1]
//   torch_rng_state U8[n]; torch_cuda_rng_state, torch_mps_rng_state and the like U8[n], when the run uses such a
//   device
// Nothing here draws from Python's or numpy's generators; their states are what LeRobot needs to resume our runs.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string_view>

#include "lerobot/core/safetensors.hpp"

namespace lerobot::checkpoint {

// Python's and numpy's entries as they are right after random.seed(seed) and np.random.seed(seed) (the low 32 bits).
TensorMap initial_rng_state(uint64_t seed);

// `carried` (initial_rng_state, or what a resumed checkpoint held) with the torch entries of now: the default CPU
// generator and, when `device` is an accelerator, its default generator.
TensorMap capture_rng_state(const TensorMap& carried, torch::Device device);

// Throws UsageError naming `source` and the entry: one that LeRobot requires is missing, or a dtype or shape is wrong.
void check_rng_state(const TensorMap& state, std::string_view source);

// Puts the torch entries into the default generators. Warns when there is none for `device`, whose generator then stays
// as it is. Throws UsageError naming `source` when LibTorch does not accept a state.
void restore_rng_state(const TensorMap& state, torch::Device device, std::string_view source);

}  // namespace lerobot::checkpoint
