// The counters behind VideoCounters, added to by every decoder of a pool at once.
#pragma once

#include <atomic>
#include <cstdint>

namespace lerobot::dataset {

struct AtomicVideoCounters {
  std::atomic<int64_t> opened = 0, seeks = 0, packets = 0, decoded = 0, converted = 0;
};

}  // namespace lerobot::dataset
