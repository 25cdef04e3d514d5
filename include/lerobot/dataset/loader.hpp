// Batches in a fixed order, assembled ahead by threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "lerobot/dataset/batch.hpp"
#include "lerobot/dataset/sampler.hpp"

namespace lerobot::dataset {

// A place in the data order: `position` frames of `epoch` have been handed out, over all ranks.
struct DataPosition {
  int64_t epoch = 0;
  int64_t position = 0;

  bool operator==(const DataPosition&) const = default;
};

// One batch to assemble. Everything random about it must derive from these numbers, so that no result depends on which
// thread ran.
struct BatchPlan {
  int64_t number = 0;  // batches since the loader's start
  int64_t epoch = 0;
  std::vector<int64_t> rows;  // of the dataset
  DataPosition next = {};     // where the data order stands after it
};

// How an epoch's order is cut into batches. Batch i of an epoch (consecutive batch_size positions) goes to rank
// i mod world_size. One rank: the last batch may be short. Several: missing positions are filled from the epoch's first
// world_size * batch_size ones, in a cycle, so that every rank gets equally many full batches (accelerate's
// even_batches).
struct BatchLayout {
  int64_t batch_size = 8;  // per rank
  int64_t rank = 0;
  int64_t world_size = 1;
};

// Batches a rank sees in a whole epoch of `frames` frames: ceil(ceil(frames / batch_size) / world_size).
int64_t batches_per_epoch(int64_t frames, const BatchLayout& layout);

// Where a run stands after `step` batches a rank, of the layout that it ran with.
DataPosition position_after(int64_t step, int64_t frames, const BatchLayout& layout);

// Walks over epochs for ever. Holds one epoch's order at a time. Not thread-safe.
class BatchCursor {
 public:
  BatchCursor(EpisodeAwareSampler sampler, BatchLayout layout, DataPosition start = {});
  BatchPlan next();

 private:
  EpisodeAwareSampler sampler_;
  BatchLayout layout_;
  DataPosition at_;
  int64_t number_ = 0;
  std::vector<int64_t> order_;  // of at_.epoch; empty: not made yet
};

struct LoaderOptions {
  int64_t num_workers = 4;      // threads; 0: next() assembles
  int64_t prefetch_factor = 2;  // batches each worker may be ahead of next()
};

// Delivers the planned batches in order; the same ones whatever the number of workers. next() is for one thread.
class DataLoader {
 public:
  // The next batch to assemble, without end: a BatchCursor's next(). Called by one thread at a time.
  using NextPlan = std::function<BatchPlan()>;
  // Runs in the workers, several at a time.
  using Assemble = std::function<Batch(const BatchPlan& plan)>;

  // Throws UsageError when the system does not start so many threads.
  DataLoader(NextPlan next_plan, Assemble assemble, LoaderOptions options);
  DataLoader(BatchCursor cursor, Assemble assemble, LoaderOptions options);
  // Waits for the batches being assembled, which are dropped.
  ~DataLoader();
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;

  // The next batch; waits for it. Rethrows what assembling it threw, and goes on with the batch after it.
  Batch next();
  // The plan of the batch that next() returned, or failed to assemble, last.
  const BatchPlan& current_plan() const;

  int64_t batches_assembled() const;  // finished so far, delivered or not

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lerobot::dataset
