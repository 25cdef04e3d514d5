// A save (with the removal of old checkpoints after it) is broken off at every single operation on the file system.
// Whatever happens, `last` must lead to the old or the new checkpoint, whole, nothing else may stand under a proper
// name that is not whole, and the next save must work and leave nothing behind.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <set>
#include <string>

#include "checkpoint_content.hpp"
#include "lerobot/checkpoint/checkpoint_writer.hpp"
#include "lerobot/config/checkpoint_layout.hpp"
#include "lerobot/core/log.hpp"
#include "support/fault_injection_file_system.hpp"

namespace lerobot::checkpoint {
namespace {

namespace fs = std::filesystem;
using testing_support::Fault;
using testing_support::FaultInjectionFileSystem;
using testing_support::SimulatedCrash;
using testing_support::TemporaryDirectory;

constexpr int64_t kTotalSteps = 100;
constexpr int64_t kOld = 1;
constexpr int64_t kNew = 2;
constexpr int64_t kNext = 3;

struct Scenario {
  const char* name;
  int64_t old_step;
  int64_t new_step;
  bool exchange = true;  // false: a file system without atomic exchange, as NFS
  bool symlinks = true;  // false: one without symbolic links, as exFAT
  std::optional<int64_t> save_total_limit = {};
};

std::ostream& operator<<(std::ostream& out, const Scenario& scenario) {
  return out << scenario.name;
}

// Thousands of small saves: while this lives, temporary folders stand in memory where the system has a place for that.
class TemporariesInMemory {
 public:
  TemporariesInMemory() {
    constexpr const char* kInMemory = "/dev/shm";
    if (::access(kInMemory, W_OK | X_OK) == 0) ::setenv("TMPDIR", kInMemory, 1);
  }
  ~TemporariesInMemory() {
    if (before_) {
      ::setenv("TMPDIR", before_->c_str(), 1);
    } else {
      ::unsetenv("TMPDIR");
    }
  }
  TemporariesInMemory(const TemporariesInMemory&) = delete;
  TemporariesInMemory& operator=(const TemporariesInMemory&) = delete;

 private:
  std::optional<std::string> before_ =
      std::getenv("TMPDIR") ? std::optional<std::string>(std::getenv("TMPDIR")) : std::nullopt;
};

class BrokenOffSave : public testing::TestWithParam<Scenario> {
 protected:
  // Thousands of saves need not be logged.
  void SetUp() override {
    log::set_line_writer([](std::string_view) {});
  }
  void TearDown() override { log::set_line_writer({}); }

  // What the writer reports; an uncaught SimulatedCrash is a failure like any other.
  static std::optional<std::string> save(FaultInjectionFileSystem& files, const fs::path& output_dir, int64_t step,
                                         int64_t mark) {
    if (!GetParam().exchange) files.forbid_exchange();
    if (!GetParam().symlinks) files.forbid_symlinks();
    CheckpointWriter writer(files, {.output_dir = output_dir,
                                    .total_steps = kTotalSteps,
                                    .save_total_limit = GetParam().save_total_limit,
                                    .async = false});
    writer.save(marked_content(step, mark));
    return writer.take_failure();
  }

  static void save_in_peace(const fs::path& output_dir, int64_t step, int64_t mark) {
    FaultInjectionFileSystem files;  // without a fault: its syncs cost nothing
    EXPECT_EQ(save(files, output_dir, step, mark), std::nullopt);
  }

  // One fault at `operation` of a save, and what the writer reports.
  static std::optional<std::string> save_with(Fault fault, int64_t operation, FaultInjectionFileSystem& files,
                                              const fs::path& output_dir) {
    save_in_peace(output_dir, GetParam().old_step, kOld);
    files.inject(fault, operation);
    return save(files, output_dir, GetParam().new_step, kNew);
  }

  static void expect_whole(const fs::path& output_dir) {
    const int64_t mark = mark_of(resolve_last(output_dir));
    EXPECT_TRUE(mark == kOld || mark == kNew) << mark;
    for (const fs::path& step : step_directories(output_dir / "checkpoints")) EXPECT_NE(mark_of(step), -1) << step;
  }

  static void expect_next_save_works(const fs::path& output_dir) {
    save_in_peace(output_dir, GetParam().new_step, kNext);
    EXPECT_EQ(mark_of(resolve_last(output_dir)), kNext);
    std::set<std::string> expected = {step_directory_name(GetParam().new_step, kTotalSteps), "last"};
    if (!GetParam().save_total_limit) expected.insert(step_directory_name(GetParam().old_step, kTotalSteps));
    std::set<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(output_dir / "checkpoints")) {
      names.insert(entry.path().filename().string());
    }
    EXPECT_EQ(names, expected);
    EXPECT_EQ(fs::is_symlink(output_dir / "checkpoints" / "last"), GetParam().symlinks);
  }

  const TemporariesInMemory in_memory_;

  // Runs `check` for a fault at every operation of a save, with the failure that the save reports.
  template <typename Check>
  void at_every_operation(Fault fault, Check check) {
    for (int64_t operation = 0;; ++operation) {
      SCOPED_TRACE(testing::Message() << "operation " << operation);
      const TemporaryDirectory directory;
      FaultInjectionFileSystem files;
      const std::optional<std::string> failure = save_with(fault, operation, files, directory.path());
      check(files, directory.path(), failure);
      const bool struck = files.operations() > operation;
      if (!struck || HasFailure()) {
        EXPECT_GT(operation, 60) << "a save has more operations than that";
        return;
      }
    }
  }
};

TEST_P(BrokenOffSave, ACrashLeavesTheOldOrTheNewCheckpoint) {
  at_every_operation(Fault::kCrash, [&](auto&, const fs::path& output_dir, const auto&) {
    expect_whole(output_dir);
    expect_next_save_works(output_dir);
  });
}

TEST_P(BrokenOffSave, APowerCutLeavesTheOldOrTheNewCheckpoint) {
  at_every_operation(Fault::kCrash, [&](FaultInjectionFileSystem& files, const fs::path& output_dir, const auto&) {
    files.lose_power();
    expect_whole(output_dir);
    expect_next_save_works(output_dir);
  });
}

TEST_P(BrokenOffSave, AnErrorLeavesTheOldOrTheNewCheckpointAndNoRest) {
  at_every_operation(Fault::kError, [&](auto&, const fs::path& output_dir, const auto& failure) {
    expect_whole(output_dir);
    // A removal that failed is finished by the next save, and no failure of this one.
    if (!failure) {
      EXPECT_EQ(mark_of(resolve_last(output_dir)), kNew);
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(output_dir / "checkpoints")) {
      const std::string name = entry.path().filename().string();
      EXPECT_TRUE(!failure || !name.starts_with('.')) << name;
    }
    expect_next_save_works(output_dir);
  });
}

INSTANTIATE_TEST_SUITE_P(Checkpoint, BrokenOffSave,
                         testing::Values(Scenario{"NewStep", 5, 10}, Scenario{"SameStep", 10, 10},
                                         Scenario{"SameStepWithoutExchange", 10, 10, false},
                                         Scenario{"NewStepThatRemovesTheOld", 5, 10, true, true, 1},
                                         Scenario{"WithoutLinks", 5, 10, true, false},
                                         Scenario{"WithoutLinksOrExchangeThatReplaces", 10, 10, false, false}),
                         [](const auto& info) { return info.param.name; });

// The same for the very first save of a run, where there is no old one to fall back on: nothing or all of it.
TEST(BrokenOffFirstSave, LeavesNothingOrAWholeCheckpoint) {
  const TemporariesInMemory in_memory;
  for (int64_t operation = 0;; ++operation) {
    const TemporaryDirectory directory;
    const fs::path output_dir = directory.path() / "outputs" / "run";
    FaultInjectionFileSystem files;
    files.inject(Fault::kCrash, operation);
    bool saved = true;
    try {
      save_checkpoint(files, output_dir, kTotalSteps, marked_content(10, kNew));
    } catch (const SimulatedCrash&) {
      saved = false;
    }
    files.lose_power();
    const bool last_stands = fs::is_symlink(output_dir / "checkpoints" / "last");
    if (last_stands) {
      EXPECT_EQ(mark_of(resolve_last(output_dir)), kNew);
    }
    if (saved) {
      EXPECT_TRUE(last_stands);
      return;
    }
  }
}

}  // namespace
}  // namespace lerobot::checkpoint
