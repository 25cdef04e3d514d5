// lerobot-eval, from its parsed command line to its files.
#pragma once

#include "lerobot/config/command_line.hpp"
#include "lerobot/core/file_system.hpp"
#include "lerobot/eval/eval_result.hpp"
#include "lerobot/policy/registry.hpp"

namespace lerobot::eval {

// Evaluates as `command` says, in LeRobot's order of operations: device, seed, environments, policy with its
// processors, rollouts. Writes eval_info.json, episodes.jsonl and videos/ below config.output_dir (evaluate.hpp).
// Throws UsageError, before anything is created except where only the first observation shows that the policy does not
// fit; RunError; and signals::Stopped when a signal asked for it.
EvalResult evaluate_command(config::ParsedEvalCommand command, const policy::PolicyRegistry& policies,
                            FileSystem& files);

}  // namespace lerobot::eval
