#include "lerobot/env/vector_env.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "lerobot/core/error.hpp"
#include "worker_team.hpp"

namespace lerobot::env {
namespace {

// std::vector<bool> packs its elements, so threads cannot write them side by side.
std::vector<bool> unpacked(const std::vector<StepResult>& steps, bool StepResult::*flag) {
  std::vector<bool> flags(steps.size());
  std::transform(steps.begin(), steps.end(), flags.begin(), [flag](const StepResult& step) { return step.*flag; });
  return flags;
}

// The step, and the reset that follows where it ended the episode; `step` then holds what the reset gave.
std::optional<FinalStep> step_and_reset(Environment& environment, std::span<const double> action, StepResult& step) {
  step = environment.step(action);
  if (!step.terminated && !step.truncated) return std::nullopt;
  FinalStep final{std::move(step.observation), std::move(step.info)};
  ResetResult next = environment.reset(std::nullopt);
  step.observation = std::move(next.observation);
  step.info = std::move(next.info);
  return final;
}

}  // namespace

std::vector<bool> VectorStep::successes() const {
  const bool any_ended = std::any_of(finals.begin(), finals.end(), [](const auto& final) { return final.has_value(); });
  std::vector<bool> result(infos.size());
  for (size_t i = 0; i < result.size(); ++i) {
    if (!any_ended) {
      result[i] = infos[i].is_success.value_or(false);
    } else if (finals[i]) {
      result[i] = finals[i]->info.is_success.value_or(false);
    }
  }
  return result;
}

VectorEnv::VectorEnv(std::vector<std::unique_ptr<Environment>> environments, int64_t threads)
    : environments_(std::move(environments)) {
  if (environments_.empty()) throw UsageError("a vector environment needs at least one environment");
  for (const auto& environment : environments_) {
    const int64_t action_dim = environment->metadata().action_dim;
    if (action_dim != metadata().action_dim) {
      throw UsageError(fmt::format("environments of one batch must take the same actions: {} takes {} numbers, {} {}",
                                   metadata().id, metadata().action_dim, environment->metadata().id, action_dim));
    }
  }
  team_ = std::make_unique<WorkerTeam>(static_cast<size_t>(std::clamp<int64_t>(threads, 1, size())));
}

VectorEnv::~VectorEnv() = default;

int64_t VectorEnv::size() const {
  return static_cast<int64_t>(environments_.size());
}

const EnvironmentMetadata& VectorEnv::metadata() const {
  return environments_.front()->metadata();
}

Environment& VectorEnv::environment(int64_t index) {
  return *environments_.at(static_cast<size_t>(index));
}

template <typename Work>
void VectorEnv::for_each_environment(int64_t count, const Work& work) {
  team_->run(static_cast<size_t>(count), [&](size_t i) {
    const auto named = [i](const Error& error) { return fmt::format("environment {}: {}", i, error.what()); };
    try {
      work(i);
    } catch (const UsageError& error) {
      throw UsageError(named(error));
    } catch (const RunError& error) {
      throw RunError(named(error));
    }
  });
}

VectorReset VectorEnv::reset(std::span<const uint64_t> seeds, const ResetOptions& options) {
  if (!seeds.empty() && static_cast<int64_t>(seeds.size()) != size()) {
    throw std::logic_error(fmt::format("{} seeds for {} environments", seeds.size(), size()));
  }
  VectorReset result{std::vector<Observation>(environments_.size()), std::vector<Info>(environments_.size())};
  for_each_environment(size(), [&](size_t i) {
    ResetResult reset = environments_[i]->reset(seeds.empty() ? std::nullopt : std::optional(seeds[i]), options);
    result.observations[i] = std::move(reset.observation);
    result.infos[i] = std::move(reset.info);
  });
  return result;
}

VectorStep VectorEnv::step(std::span<const double> actions) {
  const auto action_dim = static_cast<size_t>(metadata().action_dim);
  if (actions.size() != environments_.size() * action_dim) {
    throw std::logic_error(
        fmt::format("{} action numbers for {} environments of {}", actions.size(), size(), action_dim));
  }
  std::vector<StepResult> steps(environments_.size());
  VectorStep result;
  result.finals.resize(environments_.size());
  for_each_environment(size(), [&](size_t i) {
    result.finals[i] = step_and_reset(*environments_[i], actions.subspan(i * action_dim, action_dim), steps[i]);
  });
  result.terminated = unpacked(steps, &StepResult::terminated);
  result.truncated = unpacked(steps, &StepResult::truncated);
  for (StepResult& step : steps) {
    result.observations.push_back(std::move(step.observation));
    result.rewards.push_back(step.reward);
    result.infos.push_back(std::move(step.info));
  }
  return result;
}

std::vector<Image> VectorEnv::render(int64_t count) {
  std::vector<Image> images(static_cast<size_t>(std::clamp<int64_t>(count, 0, size())));
  for_each_environment(static_cast<int64_t>(images.size()), [&](size_t i) { images[i] = environments_[i]->render(); });
  return images;
}

}  // namespace lerobot::env
