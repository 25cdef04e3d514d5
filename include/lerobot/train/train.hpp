// The training program as a recipe.
#pragma once

#include "lerobot/config/command_line.hpp"
#include "lerobot/core/file_system.hpp"
#include "lerobot/policy/registry.hpp"

namespace lerobot::train {

// The types that --policy.type, --optimizer.type and --scheduler.type accept.
Registries registries(const policy::PolicyRegistry& policies);

// Trains as `command` says, in LeRobot's order of operations: set up, resume if asked to, then step, log and save until
// config.steps. Everything is written below config.output_dir through `files`:
//   checkpoints/<step>/   LeRobot's tree (checkpoint room), and checkpoints/last
//   metrics.jsonl         one object a log line, floats in full precision; not with save_checkpoint=false
// Throws UsageError before anything is created, RunError afterwards.
void train(config::ParsedCommand command, const policy::PolicyRegistry& policies, FileSystem& files);

}  // namespace lerobot::train
