// lerobot-train on the repository's own datasets, small enough for a test.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/process.hpp"

namespace lerobot::testing_support {

// Flags of a policy of a few thousand parameters on data/pusht_demo_keypoints, CPU, batch 8, no dropout, no VAE.
std::vector<std::string> small_keypoint_run(const std::filesystem::path& output_dir);

// The same policy behind a ResNet-18 on data/pusht_demo_image.
std::vector<std::string> small_image_run(const std::filesystem::path& output_dir);

std::filesystem::path dataset_folder(const std::string& name);  // data/<name>

std::filesystem::path lerobot_train_program();
std::filesystem::path lerobot_eval_program();
ProcessResult lerobot_train(std::vector<std::string> flags, const ProcessOptions& options = {});

}  // namespace lerobot::testing_support
