// A few threads that share the items of a short piece of work.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lerobot::env {

// run() is called from one thread at a time.
class WorkerTeam {
 public:
  // The caller of run() works too, so `size` - 1 threads are started. Throws UsageError when the system starts fewer.
  explicit WorkerTeam(size_t size);
  ~WorkerTeam();
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  // Calls work(0) ... work(count - 1), in any order and side by side, and returns when all are done. Of the exceptions
  // thrown the one of the lowest item is thrown again.
  void run(size_t count, const std::function<void(size_t)>& work);

 private:
  void close();       // ends the threads
  void serve();       // a thread's life
  void take_items();  // until none is left

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  uint64_t round_ = 0;  // raised for every run()
  size_t busy_ = 0;     // threads that have not finished the round
  bool is_closing_ = false;

  const std::function<void(size_t)>* work_ = nullptr;
  size_t count_ = 0;
  std::atomic<size_t> next_{0};
  std::vector<std::exception_ptr> failures_;

  std::vector<std::thread> threads_;
};

}  // namespace lerobot::env
