#include "lerobot/dataset/sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "lerobot/core/random.hpp"

namespace lerobot::dataset {

EpisodeAwareSampler::EpisodeAwareSampler(std::span<const EpisodeRows> episodes, SamplerOptions options)
    : options_(options), frames_{0} {
  for (const EpisodeRows& episode : episodes) {
    const int64_t used = episode.length - options.drop_n_first_frames - options.drop_n_last_frames;
    if (used <= 0) {
      log::warning(
          fmt::format("Episode {} has {} frames, and drop_n_first_frames={} with drop_n_last_frames={} removes "
                      "them all: it is skipped",
                      episode.episode_index, episode.length, options.drop_n_first_frames, options.drop_n_last_frames));
      continue;
    }
    first_row_.push_back(episode.first_row + options.drop_n_first_frames);
    frames_.push_back(frames_.back() + used);
  }
  if (first_row_.empty())
    throw UsageError(
        fmt::format("No frame is left to train on: no episode is longer than drop_n_first_frames={} plus "
                    "drop_n_last_frames={} (the policy's; --policy.drop_n_last_frames)",
                    options.drop_n_first_frames, options.drop_n_last_frames));
}

int64_t EpisodeAwareSampler::row_of(int64_t position) const {
  const auto after = std::upper_bound(frames_.begin(), frames_.end(), position);
  const auto episode = after - frames_.begin() - 1;
  return first_row_[episode] + position - frames_[episode];
}

std::vector<int64_t> EpisodeAwareSampler::order(int64_t epoch) const {
  std::vector<int64_t> order;
  if (options_.shuffle) {
    const std::array<uint64_t, 2> entropy{options_.seed, static_cast<uint64_t>(epoch)};
    order = torch_randperm(size(), seed_sequence_state(entropy));
  } else {
    order.resize(size());
    std::iota(order.begin(), order.end(), 0);
  }
  std::transform(order.begin(), order.end(), order.begin(), [this](int64_t position) { return row_of(position); });
  return order;
}

}  // namespace lerobot::dataset
