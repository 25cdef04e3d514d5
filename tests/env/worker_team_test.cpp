#include "worker_team.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <barrier>
#include <stdexcept>
#include <string>

#include "lerobot/core/error.hpp"
#include "support/no_room_for_threads.hpp"

namespace lerobot::env {
namespace {

TEST(WorkerTeam, DoesEveryItemOnceInEveryRun) {
  for (const size_t size : {1, 2, 5}) {
    WorkerTeam team(size);
    for (size_t count = 0; count < 40; ++count) {
      std::vector<int> done(count);
      team.run(count, [&](size_t i) { ++done[i]; });
      EXPECT_EQ(std::count(done.begin(), done.end(), 1), static_cast<std::ptrdiff_t>(count));
    }
  }
}

TEST(WorkerTeam, SaysWhenTheSystemStartsNoMoreThreads) {
  const testing_support::NoRoomForThreads no_room;
  EXPECT_THAT([] { WorkerTeam(65); },
              testing::ThrowsMessage<UsageError>(testing::HasSubstr("does not start 64 threads")));
}

TEST(WorkerTeam, WorksSideBySide) {
  WorkerTeam team(3);
  std::barrier all_three(3);  // would wait for ever if the items came one after the other
  team.run(3, [&](size_t) { all_three.arrive_and_wait(); });
}

TEST(WorkerTeam, ThrowsTheLowestItemsExceptionAndStaysUsable) {
  WorkerTeam team(4);
  EXPECT_THAT(
      [&] {
        team.run(20, [](size_t i) {
          if (i % 7 == 6) throw std::runtime_error(std::to_string(i));
        });
      },
      testing::ThrowsMessage<std::runtime_error>("6"));
  std::atomic<int> done = 0;
  team.run(20, [&](size_t) { ++done; });
  EXPECT_EQ(done, 20);
}

}  // namespace
}  // namespace lerobot::env
