// Checkpoints for the tests of this room.
#pragma once

#include <filesystem>
#include <string>

#include "lerobot/checkpoint/checkpoint.hpp"

namespace lerobot::checkpoint {

// The step-10 checkpoint that LeRobot 0.6.2 wrote (small ACT on state vectors, AdamW, cosine schedule).
std::filesystem::path golden_step();

// All of it, as content to save again.
CheckpointContent golden_content();

// A small one in which every file carries `mark`, so that a mixture of two saves shows.
CheckpointContent marked_content(int64_t step, int64_t mark);

// The mark, when the checkpoint is whole and of one save; otherwise the test fails and it is -1.
int64_t mark_of(const std::filesystem::path& step_directory);

std::string read_text(const std::filesystem::path& path);

}  // namespace lerobot::checkpoint
