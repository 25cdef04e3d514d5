#include "worker_team.hpp"

#include <fmt/format.h>

#include <system_error>

#include "lerobot/core/error.hpp"

namespace lerobot::env {

WorkerTeam::WorkerTeam(size_t size) {
  try {
    for (size_t i = 1; i < size; ++i) threads_.emplace_back([this] { serve(); });
  } catch (const std::system_error& error) {
    close();
    throw UsageError(
        fmt::format("--eval.batch_size: the system does not start {} threads for the environments ({}); ask for fewer "
                    "environments, or raise the limit (ulimit -u, a container's pids limit)",
                    size - 1, error.code().message()));
  }
}

WorkerTeam::~WorkerTeam() {
  close();
}

void WorkerTeam::close() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerTeam::run(size_t count, const std::function<void(size_t)>& work) {
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    count_ = count;
    next_ = 0;
    failures_.assign(count, nullptr);
    busy_ = threads_.size();
    ++round_;
  }
  wake_.notify_all();
  take_items();
  {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
  }
  for (const std::exception_ptr& failure : failures_) {
    if (failure) std::rethrow_exception(failure);
  }
}

void WorkerTeam::serve() {
  uint64_t seen = 0;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return is_closing_ || round_ != seen; });
      if (is_closing_) return;
      seen = round_;
    }
    take_items();
    {
      const std::lock_guard lock(mutex_);
      --busy_;
    }
    done_.notify_one();
  }
}

void WorkerTeam::take_items() {
  for (size_t item = next_++; item < count_; item = next_++) {
    try {
      (*work_)(item);
    } catch (...) {
      failures_[item] = std::current_exception();
    }
  }
}

}  // namespace lerobot::env
