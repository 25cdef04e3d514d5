#include "lerobot/dataset/loader.hpp"

#include <fmt/format.h>
#include <torch/types.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include "lerobot/core/error.hpp"

namespace lerobot::dataset {

int64_t batches_per_epoch(int64_t frames, const BatchLayout& layout) {
  const int64_t batches = (frames + layout.batch_size - 1) / layout.batch_size;
  return (batches + layout.world_size - 1) / layout.world_size;
}

DataPosition position_after(int64_t step, int64_t frames, const BatchLayout& layout) {
  const int64_t per_epoch = batches_per_epoch(frames, layout);
  return {step / per_epoch, std::min(step % per_epoch * layout.batch_size * layout.world_size, frames)};
}

BatchCursor::BatchCursor(EpisodeAwareSampler sampler, BatchLayout layout, DataPosition start)
    : sampler_(std::move(sampler)), layout_(layout), at_(start) {
  TORCH_CHECK(layout.batch_size > 0 && layout.rank >= 0 && layout.rank < layout.world_size, "bad batch layout");
}

BatchPlan BatchCursor::next() {
  const int64_t frames = sampler_.size();
  if (at_.position >= frames) {
    at_ = {at_.epoch + 1, 0};
    order_.clear();
  }
  if (order_.empty()) order_ = sampler_.order(at_.epoch);

  BatchPlan plan{.number = number_++, .epoch = at_.epoch, .rows = {}};
  const int64_t begin = at_.position + layout_.rank * layout_.batch_size;
  const int64_t end = begin + layout_.batch_size;
  const int64_t filler = std::min(layout_.world_size * layout_.batch_size, frames);
  for (int64_t position = begin; position < end; ++position) {
    if (position < frames) {
      plan.rows.push_back(order_[position]);
    } else if (layout_.world_size > 1) {
      plan.rows.push_back(order_[(position - frames) % filler]);
    }
  }
  at_.position = std::min(at_.position + layout_.batch_size * layout_.world_size, frames);
  plan.next = at_.position < frames ? at_ : DataPosition{at_.epoch + 1, 0};
  return plan;
}

class DataLoader::Impl {
 public:
  Impl(NextPlan next_plan, Assemble assemble, LoaderOptions options)
      : next_plan_(std::move(next_plan)),
        assemble_(std::move(assemble)),
        ahead_(std::max<int64_t>(1, options.num_workers * options.prefetch_factor)) {
    try {
      while (std::ssize(workers_) < options.num_workers) workers_.emplace_back([this] { work(); });
    } catch (const std::system_error& error) {
      const int64_t started = std::ssize(workers_);
      stop();
      throw UsageError(
          fmt::format("--num_workers={}: the system starts no more than {} of these threads ({}); ask for fewer, or "
                      "raise the limit (ulimit -u, a container's pids limit)",
                      options.num_workers, started, error.code().message()));
    }
  }

  ~Impl() { stop(); }

  Batch next() {
    if (workers_.empty()) {
      current_ = next_plan_();
      ++assembled_;
      return assemble_(current_);
    }
    std::unique_lock lock(mutex_);
    is_done_.wait(lock, [this] { return done_.count(delivered_) != 0; });
    Result result = std::move(done_.extract(delivered_).mapped());
    ++delivered_;
    lock.unlock();
    may_plan_.notify_one();
    current_ = std::move(result.plan);
    if (result.failure) std::rethrow_exception(result.failure);
    return std::move(result.batch);
  }

  const BatchPlan& current() const { return current_; }

  int64_t assembled() const {
    const std::lock_guard lock(mutex_);
    return assembled_;
  }

 private:
  struct Result {
    BatchPlan plan;
    Batch batch;
    std::exception_ptr failure;
  };

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    may_plan_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      may_plan_.wait(lock, [this] { return is_stopping_ || planned_ < delivered_ + ahead_; });
      if (is_stopping_) return;
      const int64_t number = planned_++;
      Result result;
      try {
        result.plan = next_plan_();
        lock.unlock();
        result.batch = assemble_(result.plan);
      } catch (...) {
        result.failure = std::current_exception();
      }
      if (!lock.owns_lock()) lock.lock();
      ++assembled_;
      done_.emplace(number, std::move(result));
      is_done_.notify_one();
    }
  }

  const NextPlan next_plan_;  // under mutex_ when there are workers
  const Assemble assemble_;
  const int64_t ahead_;  // batches planned beyond the delivered ones
  BatchPlan current_;    // of the thread that calls next()

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable may_plan_;
  std::condition_variable is_done_;
  std::map<int64_t, Result> done_;  // by number; assembled and not yet delivered
  int64_t planned_ = 0;
  int64_t delivered_ = 0;
  int64_t assembled_ = 0;
  bool is_stopping_ = false;

  std::vector<std::thread> workers_;
};

DataLoader::DataLoader(NextPlan next_plan, Assemble assemble, LoaderOptions options)
    : impl_(std::make_unique<Impl>(std::move(next_plan), std::move(assemble), options)) {}
DataLoader::DataLoader(BatchCursor cursor, Assemble assemble, LoaderOptions options)
    : DataLoader([cursor = std::move(cursor)]() mutable { return cursor.next(); }, std::move(assemble), options) {}
DataLoader::~DataLoader() = default;

Batch DataLoader::next() {
  return impl_->next();
}
const BatchPlan& DataLoader::current_plan() const {
  return impl_->current();
}
int64_t DataLoader::batches_assembled() const {
  return impl_->assembled();
}

}  // namespace lerobot::dataset
