// The order in which frames are visited (LeRobot: EpisodeAwareSampler).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lerobot/dataset/dataset.hpp"

namespace lerobot::dataset {

struct SamplerOptions {
  int64_t drop_n_first_frames = 0;
  int64_t drop_n_last_frames = 0;  // the policy's: chunks that would reach too far beyond an episode's end
  bool shuffle = true;
  uint64_t seed = 0;
};

// Immutable. The order of an epoch is a pure function of (seed, epoch): torch.randperm with a generator seeded by
// numpy's SeedSequence([seed, epoch]).
class EpisodeAwareSampler {
 public:
  // Episodes too short for what is dropped are skipped with a warning. Throws UsageError when no frame is left.
  EpisodeAwareSampler(std::span<const EpisodeRows> episodes, SamplerOptions options);

  int64_t size() const { return static_cast<int64_t>(frames_.back()); }
  // Rows of the dataset in visiting order.
  std::vector<int64_t> order(int64_t epoch) const;

 private:
  int64_t row_of(int64_t position) const;

  SamplerOptions options_;
  std::vector<int64_t> first_row_;  // of each used episode, after drop_n_first_frames
  std::vector<int64_t> frames_;     // running count of frames before each used episode, and the total
};

}  // namespace lerobot::dataset
