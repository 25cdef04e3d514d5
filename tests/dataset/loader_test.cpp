#include "lerobot/dataset/loader.hpp"

#include <gmock/gmock.h>
#include <torch/types.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "lerobot/core/error.hpp"
#include "support/no_room_for_threads.hpp"

namespace lerobot::dataset {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Rows = std::vector<int64_t>;

EpisodeAwareSampler sampler_of(int64_t frames, bool shuffle = true) {
  const std::vector<EpisodeRows> episodes{{0, 0, frames}};
  return {episodes, {.shuffle = shuffle, .seed = 1000}};
}

BatchCursor in_order(int64_t frames, BatchLayout layout, DataPosition start = {}) {
  return {sampler_of(frames, false), layout, start};
}

std::vector<Rows> take(BatchCursor cursor, int64_t batches) {
  std::vector<Rows> rows;
  for (int64_t i = 0; i < batches; ++i) rows.push_back(cursor.next().rows);
  return rows;
}

// A batch that holds its plan, to be looked at after delivery.
Batch batch_of(const BatchPlan& plan) {
  Batch batch;
  batch.tensors["index"] = torch::tensor(plan.rows);
  batch.task.push_back(std::to_string(plan.epoch));
  return batch;
}

Rows rows_of(const Batch& batch) {
  const torch::Tensor& index = batch.at("index");
  return {index.data_ptr<int64_t>(), index.data_ptr<int64_t>() + index.numel()};
}

std::vector<Rows> deliver(LoaderOptions options, int64_t batches) {
  DataLoader loader({sampler_of(10), {.batch_size = 4}}, batch_of, options);
  std::vector<Rows> rows;
  for (int64_t i = 0; i < batches; ++i) rows.push_back(rows_of(loader.next()));
  return rows;
}

TEST(BatchCursor, CyclesOverEpochsWithAShortLastBatch) {
  EXPECT_THAT(take(in_order(10, {.batch_size = 4}), 4),
              ElementsAre(Rows{0, 1, 2, 3}, Rows{4, 5, 6, 7}, Rows{8, 9}, Rows{0, 1, 2, 3}));
}

TEST(BatchCursor, ShufflesEveryEpochAnew) {
  BatchCursor cursor(sampler_of(10), {.batch_size = 10});
  const BatchPlan first = cursor.next(), second = cursor.next();
  EXPECT_EQ(first.rows, sampler_of(10).order(0));
  EXPECT_EQ(second.rows, sampler_of(10).order(1));
  EXPECT_EQ(second.epoch, 1);
  EXPECT_EQ(second.number, 1);
}

// accelerate 1.15's BatchSamplerShard(even_batches=True), 10 frames in batches of 4 on 2 ranks.
TEST(BatchCursor, SharesAnEpochAmongRanksInFullBatches) {
  EXPECT_THAT(take(in_order(10, {4, 0, 2}), 3), ElementsAre(Rows{0, 1, 2, 3}, Rows{8, 9, 0, 1}, Rows{0, 1, 2, 3}));
  EXPECT_THAT(take(in_order(10, {4, 1, 2}), 3), ElementsAre(Rows{4, 5, 6, 7}, Rows{2, 3, 4, 5}, Rows{4, 5, 6, 7}));
}

TEST(BatchCursor, FillsBatchesOfADatasetSmallerThanOneRound) {
  EXPECT_THAT(take(in_order(3, {2, 0, 3}), 1), ElementsAre(Rows{0, 1}));
  EXPECT_THAT(take(in_order(3, {2, 1, 3}), 1), ElementsAre(Rows{2, 0}));
  EXPECT_THAT(take(in_order(3, {2, 2, 3}), 1), ElementsAre(Rows{1, 2}));
}

TEST(BatchCursor, ResumesWhereARunStoodAfterAnyStep) {
  for (const BatchLayout layout : {BatchLayout{4, 0, 1}, BatchLayout{4, 1, 2}}) {
    const auto uninterrupted = take({sampler_of(10), layout}, 8);
    for (int64_t step = 0; step < 8; ++step) {
      const BatchCursor resumed(sampler_of(10), layout, position_after(step, 10, layout));
      EXPECT_EQ(take(resumed, 8 - step), std::vector(uninterrupted.begin() + step, uninterrupted.end())) << step;
    }
  }
}

TEST(BatchCursor, ResumesAtTheFrameWhenTheBatchSizeChanged) {
  const DataPosition position = position_after(4, 10, {.batch_size = 4});  // 3 batches an epoch, then one more
  EXPECT_EQ(position, (DataPosition{1, 4}));
  EXPECT_THAT(take(in_order(10, {.batch_size = 5}, position), 3),
              ElementsAre(Rows{4, 5, 6, 7, 8}, Rows{9}, Rows{0, 1, 2, 3, 4}));
}

TEST(BatchCursor, CountsBatchesOfAnEpoch) {
  EXPECT_EQ(batches_per_epoch(10, {.batch_size = 4}), 3);
  EXPECT_EQ(batches_per_epoch(10, {4, 0, 2}), 2);
  EXPECT_EQ(batches_per_epoch(8, {4, 0, 2}), 1);
}

TEST(DataLoader, DeliversTheSameBatchesWhateverTheWorkersAndPrefetch) {
  const auto expected = take({sampler_of(10), {.batch_size = 4}}, 20);
  for (int64_t workers : {0, 1, 3}) {
    for (int64_t prefetch : {1, 2, 5}) EXPECT_EQ(deliver({workers, prefetch}, 20), expected) << workers << prefetch;
  }
}

TEST(DataLoader, KeepsTheOrderWhenALaterBatchIsReadyFirst) {
  std::mutex mutex;
  std::condition_variable second_done;
  bool is_second_done = false;
  const auto assemble = [&](const BatchPlan& plan) {
    std::unique_lock lock(mutex);
    if (plan.number == 0) second_done.wait(lock, [&] { return is_second_done; });
    if (plan.number == 1) {
      is_second_done = true;
      second_done.notify_all();
    }
    return batch_of(plan);
  };
  DataLoader loader(in_order(10, {.batch_size = 2}), assemble, {.num_workers = 2, .prefetch_factor = 1});
  EXPECT_EQ(rows_of(loader.next()), (Rows{0, 1}));
  EXPECT_EQ(rows_of(loader.next()), (Rows{2, 3}));
}

TEST(DataLoader, AssemblesNoFartherAheadThanThePrefetch) {
  DataLoader loader(in_order(10, {.batch_size = 2}), batch_of, {.num_workers = 2, .prefetch_factor = 3});
  for (int64_t delivered = 1; delivered <= 30; ++delivered) {
    loader.next();
    EXPECT_LE(loader.batches_assembled(), delivered + 6);
    EXPECT_GE(loader.batches_assembled(), delivered);
  }
}

TEST(DataLoader, AssemblesInTheCallingThreadWithoutWorkers) {
  std::set<std::thread::id> threads;
  const auto assemble = [&](const BatchPlan& plan) {
    threads.insert(std::this_thread::get_id());
    return batch_of(plan);
  };
  DataLoader loader(in_order(10, {.batch_size = 2}), assemble, {.num_workers = 0});
  EXPECT_EQ(loader.batches_assembled(), 0);
  loader.next();
  loader.next();
  EXPECT_EQ(loader.batches_assembled(), 2);
  EXPECT_THAT(threads, ElementsAre(std::this_thread::get_id()));
}

TEST(DataLoader, RethrowsWhatAWorkerThrewAndGoesOn) {
  const auto assemble = [](const BatchPlan& plan) {
    if (plan.number == 1) throw RunError("frame 2 is damaged");
    return batch_of(plan);
  };
  for (int64_t workers : {0, 2}) {
    DataLoader loader(in_order(10, {.batch_size = 2}), assemble, {workers, 2});
    EXPECT_EQ(rows_of(loader.next()), (Rows{0, 1}));
    EXPECT_THAT([&] { loader.next(); }, ThrowsMessage<RunError>(HasSubstr("frame 2 is damaged")));
    EXPECT_EQ(rows_of(loader.next()), (Rows{4, 5}));
  }
}

TEST(DataLoader, TellsThePlanOfTheDeliveredBatch) {
  for (int64_t workers : {0, 2}) {
    DataLoader loader(in_order(10, {.batch_size = 6}), batch_of, {workers, 3});
    for (int64_t number = 0; number < 6; ++number) {
      const Batch batch = loader.next();
      EXPECT_EQ(loader.current_plan().number, number);
      EXPECT_EQ(loader.current_plan().epoch, number / 2);
      EXPECT_EQ(loader.current_plan().rows, rows_of(batch));
      const DataPosition next = loader.current_plan().next;
      EXPECT_EQ(next, (number % 2 == 0 ? DataPosition{number / 2, 6} : DataPosition{number / 2 + 1, 0}));
      EXPECT_EQ(next, position_after(number + 1, 10, {.batch_size = 6}));
    }
  }
}

TEST(DataLoader, SaysHowManyThreadsTheSystemStarts) {
  const testing_support::NoRoomForThreads no_room;
  EXPECT_THAT(([] { DataLoader(in_order(10, {.batch_size = 2}), batch_of, {.num_workers = 64}); }),
              ThrowsMessage<UsageError>(HasSubstr("--num_workers=64: the system starts no more than ")));
}

TEST(DataLoader, EndsWithBatchesUndelivered) {
  std::atomic<int64_t> running = 0;
  {
    const auto assemble = [&](const BatchPlan& plan) {
      ++running;
      Batch batch = batch_of(plan);
      --running;
      return batch;
    };
    DataLoader loader(in_order(10, {.batch_size = 2}), assemble, {.num_workers = 3, .prefetch_factor = 4});
    loader.next();
  }
  EXPECT_EQ(running, 0);
}

}  // namespace
}  // namespace lerobot::dataset
