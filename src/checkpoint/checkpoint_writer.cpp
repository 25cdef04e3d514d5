#include "lerobot/checkpoint/checkpoint_writer.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "lerobot/config/checkpoint_layout.hpp"
#include "lerobot/core/describe_exception.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "lerobot/core/signals.hpp"

namespace lerobot::checkpoint {

CheckpointWriter::CheckpointWriter(FileSystem& files, Options options) : files_(files), options_(std::move(options)) {}

CheckpointWriter::~CheckpointWriter() {
  finish();
  if (const auto failure = take_failure()) log::error(*failure);
}

void CheckpointWriter::save(CheckpointContent content) {
  finish();
  if (!options_.async) {
    write(content);
    return;
  }
  const int64_t step = content.training_state.step;
  try {
    content = snapshot(std::move(content));
    const signals::BlockedInNewThreads blocked;
    thread_ = std::thread([this, content = std::move(content)] { write(content); });
  } catch (...) {
    fail(
        fmt::format("the checkpoint of step {} could not be saved: cannot copy it to write it from there: {}. With "
                    "--async_save=false it is written without a copy",
                    step, describe(std::current_exception())));
  }
}

void CheckpointWriter::finish() {
  if (thread_.joinable()) thread_.join();
}

std::optional<std::string> CheckpointWriter::take_failure() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(failure_, std::nullopt);
}

void CheckpointWriter::write(const CheckpointContent& content) {
  std::filesystem::path step_directory;
  try {
    step_directory = save_checkpoint(files_, options_.output_dir, options_.total_steps, content);
    log::info(
        fmt::format("Model weights successfully saved to {}", (step_directory / kPretrainedModelDirectory).string()));
  } catch (...) {
    fail(describe(std::current_exception()));
    return;
  }
  if (!options_.save_total_limit) return;
  try {
    remove_old_checkpoints(files_, options_.output_dir, *options_.save_total_limit, step_directory);
  } catch (...) {
    log::warning(fmt::format("Checkpoints beyond --save_total_limit={} could not be removed: {}",
                             *options_.save_total_limit, describe(std::current_exception())));
  }
}

void CheckpointWriter::fail(std::string message) {
  const std::scoped_lock lock(mutex_);
  failure_ = failure_ ? *failure_ + "\n" + message : std::move(message);
}

}  // namespace lerobot::checkpoint
