#include "lerobot/checkpoint/checkpoint.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <map>
#include <set>

#include "checkpoint_content.hpp"
#include "lerobot/checkpoint/rng_state.hpp"
#include "lerobot/config/checkpoint_layout.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "support/fault_injection_file_system.hpp"
#include "support/temporary_directory.hpp"
#include "support/torch.hpp"

namespace lerobot::checkpoint {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using testing_support::Fault;
using testing_support::FaultInjectionFileSystem;

class Checkpoint : public testing::Test {
 protected:
  fs::path save(const CheckpointContent& content, int64_t total_steps = 10) {
    return save_checkpoint(local_file_system(), output_dir_, total_steps, content);
  }

  static std::map<std::string, std::string> tree(const fs::path& root) {
    std::map<std::string, std::string> files;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
      if (entry.is_regular_file()) files[entry.path().lexically_relative(root).string()] = read_text(entry.path());
    }
    return files;
  }

  std::set<std::string> entries() const {
    std::set<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(output_dir_ / "checkpoints")) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

  testing_support::TemporaryDirectory directory_;
  fs::path output_dir_ = directory_.path() / "outputs" / "run";
};

TEST_F(Checkpoint, SavesLeRobotsFilesByteForByte) {
  std::map<std::string, std::string> expected = tree(golden_step());
  const std::map<std::string, std::string> actual = tree(save(golden_content()));
  // One key more than the newer LeRobots write, for 0.6.1.
  std::string& step = expected.at("training_state/training_step.json");
  step.replace(step.rfind("\n}"), 2, ",\n    \"num_processes\": 1\n}");
  EXPECT_EQ(actual.size(), expected.size());
  for (const auto& [name, bytes] : expected) {
    ASSERT_TRUE(actual.contains(name)) << name;
    EXPECT_EQ(actual.at(name) == bytes, true) << name << " differs";
  }
}

TEST_F(Checkpoint, PointsLastAtTheNewestWithARelativeLink) {
  EXPECT_EQ(save(marked_content(5, 5)), output_dir_ / "checkpoints" / "000005");
  EXPECT_EQ(save(marked_content(10, 10)), output_dir_ / "checkpoints" / "000010");
  EXPECT_EQ(fs::read_symlink(output_dir_ / "checkpoints" / "last"), "000010");
  EXPECT_EQ(resolve_last(output_dir_), fs::canonical(output_dir_ / "checkpoints" / "000010"));
  EXPECT_EQ(entries(), (std::set<std::string>{"000005", "000010", "last"}));
}

TEST_F(Checkpoint, ReplacesACheckpointOfTheSameStep) {
  save(marked_content(10, 1));
  std::ofstream(output_dir_ / "checkpoints" / "000010" / "stale") << "from before";
  EXPECT_EQ(mark_of(save(marked_content(10, 2))), 2);
  EXPECT_FALSE(fs::exists(output_dir_ / "checkpoints" / "000010" / "stale"));
  EXPECT_EQ(entries(), (std::set<std::string>{"000010", "last"}));
}

TEST_F(Checkpoint, FilesAreReadableAsTheUmaskSays) {
  const mode_t before = umask(022);
  const fs::path step = save(golden_content());
  umask(before);
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(step)) {
    const fs::perms expected = entry.is_directory() ? fs::perms(0755) : fs::perms(0644);
    EXPECT_EQ(entry.status().permissions(), expected) << entry.path();
  }
}

TEST_F(Checkpoint, ReadsBackEverythingBitForBit) {
  CheckpointContent content = golden_content();
  content.weights["half"] = torch::randn({3, 5}).to(torch::kBFloat16);
  content.training_state.scaler = Json({{"scale", 65536.0}, {"_growth_tracker", 7}});
  content.training_state.lerobot_cpp = Json({{"tf32", true}, {"lr", 1e-05}});
  const fs::path step = save(content);
  const TrainingState read = load_training_state(step);
  const auto expect_equal = [](const TensorMap& a, const TensorMap& b) {
    ASSERT_EQ(a.size(), b.size());
    for (const auto& [name, tensor] : a) {
      ASSERT_TRUE(b.contains(name)) << name;
      EXPECT_EQ(tensor.scalar_type(), b.at(name).scalar_type()) << name;
      EXPECT_TRUE(torch::equal(tensor, b.at(name))) << name;
    }
  };
  expect_equal(content.weights, load_weights(step / "pretrained_model"));
  expect_equal(content.training_state.optimizer, read.optimizer);
  expect_equal(content.training_state.rng, read.rng);
  EXPECT_EQ(read.step, 10);
  EXPECT_EQ(read.dp_world_size, 1);
  EXPECT_EQ(read.batch_size, 4);
  EXPECT_EQ(read.grad_accum_steps, 1);
  EXPECT_EQ(read.parallelism->dp_shard, 1);
  EXPECT_EQ(read.param_groups, content.training_state.param_groups);
  EXPECT_EQ(read.scheduler, content.training_state.scheduler);
  EXPECT_EQ(read.scaler, content.training_state.scaler);
  EXPECT_EQ(to_python_json(*read.lerobot_cpp, {.indent = -1}), R"({"format_version": 1, "tf32": true, "lr": 1e-05})");
}

TEST_F(Checkpoint, RemovesWhatDeadRunsLeftBehind) {
  save(marked_content(5, 5));
  const fs::path checkpoints = output_dir_ / "checkpoints";
  fs::create_directories(checkpoints / ".000007.tmp-12345" / "pretrained_model");
  fs::create_directory_symlink("000007", checkpoints / ".last.tmp-12345");
  fs::rename(checkpoints / "000005", checkpoints / ".000005.old-12345");  // died between the two renames
  fs::create_directories(checkpoints / ".notes.tmp-draft");               // not ours
  EXPECT_EQ(mark_of(resolve_last(output_dir_)), 5);
  save(marked_content(10, 10));
  EXPECT_EQ(entries(), (std::set<std::string>{"000005", "000010", "last", ".notes.tmp-draft"}));
  EXPECT_EQ(mark_of(checkpoints / "000005"), 5);
}

TEST_F(Checkpoint, LeavesALastThatIsNotOursAlone) {
  fs::create_directories(output_dir_ / "checkpoints" / "last");
  EXPECT_THAT([&] { save(marked_content(5, 5)); },
              ThrowsMessage<RunError>(AllOf(HasSubstr("the checkpoint of step 5 could not be saved"),
                                            HasSubstr("last is neither a symbolic link nor a file"))));
  EXPECT_TRUE(fs::is_directory(fs::symlink_status(output_dir_ / "checkpoints" / "last")));
  EXPECT_EQ(mark_of(output_dir_ / "checkpoints" / "000005"), 5);
  fs::remove(output_dir_ / "checkpoints" / "last");
  std::ofstream(output_dir_ / "checkpoints" / "last") << "my notes";
  EXPECT_THAT([&] { save(marked_content(10, 10)); }, ThrowsMessage<RunError>(HasSubstr("last is neither")));
  EXPECT_EQ(read_text(output_dir_ / "checkpoints" / "last"), "my notes");
}

TEST_F(Checkpoint, WithoutLinksLastIsAFileAndTheLogSaysSoOnce) {
  FaultInjectionFileSystem files;
  files.forbid_symlinks();
  std::vector<std::string> logged;
  log::set_line_writer([&](std::string_view line) { logged.emplace_back(line); });
  for (const int64_t step : {5, 10}) {
    save_checkpoint(files, output_dir_, 10, marked_content(step, step));
    EXPECT_EQ(mark_of(resolve_last(output_dir_)), step);
  }
  log::set_line_writer({});
  EXPECT_EQ(read_text(output_dir_ / "checkpoints" / "last"), "000010\n");
  EXPECT_THAT(logged, ElementsAre(HasSubstr("last cannot be a symbolic link on this file system")));
  save(marked_content(15, 15));  // the folder was moved to a file system with links
  EXPECT_EQ(fs::read_symlink(output_dir_ / "checkpoints" / "last"), "000015");
}

struct Refusal {
  std::errc reason;
  const char* way_out;
};

TEST_F(Checkpoint, WhatTheDiskRefusesIsNamedWithTheWayOut) {
  save(marked_content(5, 5));
  for (const auto& [reason, way_out] :
       {Refusal{std::errc::no_space_on_device, "Make room, or keep fewer checkpoints with --save_total_limit"},
        Refusal{std::errc::read_only_file_system, "choose another folder with --output_dir"},
        Refusal{std::errc::permission_denied, "choose another folder with --output_dir"}}) {
    FaultInjectionFileSystem files;
    files.inject(Fault::kError, 6, reason);
    EXPECT_THAT([&] { save_checkpoint(files, output_dir_, 10, marked_content(10, 10)); },
                ThrowsMessage<RunError>(AllOf(HasSubstr("the checkpoint of step 10 could not be saved"),
                                              HasSubstr(std::make_error_code(reason).message()), HasSubstr(way_out))));
    EXPECT_EQ(entries(), (std::set<std::string>{"000005", "last"}));
    EXPECT_EQ(mark_of(resolve_last(output_dir_)), 5);
  }
}

TEST_F(Checkpoint, AReplacedOneThatCannotBeRemovedIsNoFailure) {
  for (const bool exchange : {true, false}) {
    save(marked_content(10, 1));
    FaultInjectionFileSystem whole, failing;
    if (!exchange) {
      whole.forbid_exchange();
      failing.forbid_exchange();
    }
    save_checkpoint(whole, output_dir_, 10, marked_content(10, 2));
    failing.inject(Fault::kError, whole.operations() - 1);
    std::vector<std::string> logged;
    log::set_line_writer([&](std::string_view line) { logged.emplace_back(line); });
    EXPECT_EQ(mark_of(save_checkpoint(failing, output_dir_, 10, marked_content(10, 3))), 3);
    log::set_line_writer({});
    EXPECT_THAT(logged, ElementsAre(AllOf(HasSubstr("is left over"), HasSubstr("The next save tries again"))));
    EXPECT_EQ(entries().size(), 3);
    save(marked_content(10, 4));
    EXPECT_EQ(entries(), (std::set<std::string>{"000010", "last"}));
  }
}

// As on a disk that is full, a write(2) of the real file system stops half-way.
TEST_F(Checkpoint, AFileThatCannotGrowLeavesThePreviousCheckpointAndNoRest) {
  save(marked_content(5, 5));
  CheckpointContent large = marked_content(10, 10);
  large.weights["large"] = torch::zeros({1 << 20});
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 1 << 20;
  const auto previous_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  std::string message;
  try {
    save(large);
  } catch (const RunError& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, previous_handler);
  EXPECT_THAT(message, AllOf(HasSubstr("cannot write to "), HasSubstr("model.safetensors: File too large")));
  EXPECT_EQ(entries(), (std::set<std::string>{"000005", "last"}));
  EXPECT_EQ(mark_of(resolve_last(output_dir_)), 5);
}

TEST_F(Checkpoint, ABrokenModelIsNotStored) {
  save(marked_content(5, 5));
  for (const double broken : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    for (const torch::ScalarType dtype : {torch::kFloat32, torch::kFloat64, torch::kFloat16, torch::kBFloat16}) {
      CheckpointContent content = marked_content(10, 10);
      content.weights["model.second"] = torch::ones({3, 5}, dtype);
      content.weights["model.second"][2][4] = broken;
      content.weights["model.third"] = content.weights["model.second"];
      EXPECT_THAT(
          [&] { save(content); },
          ThrowsMessage<RunError>(AllOf(HasSubstr("the weight model.second of pretrained_model/model.safetensors"),
                                        HasSubstr("the checkpoint before stays"))));
    }
  }
  CheckpointContent averaged = marked_content(10, 10);
  averaged.ema->weights.at("model.weight")[0][0] = std::nan("");
  EXPECT_THAT([&] { save(averaged); }, ThrowsMessage<RunError>(HasSubstr("of pretrained_model_ema/model.safetensors")));
  EXPECT_EQ(entries(), (std::set<std::string>{"000005", "last"}));
  // Integers and what is no weight are not looked at.
  CheckpointContent fine = marked_content(10, 10);
  fine.weights["count"] = torch::tensor({1, 2});
  fine.training_state.optimizer["state/0/exp_avg"] = torch::full({2}, std::nan(""));
  EXPECT_EQ(mark_of(save(fine)), 10);
}

TEST_F(Checkpoint, WritesTheNamesThatShareATensorAndReadsThoseThatLeRobotDropped) {
  const torch::Tensor shared = torch::arange(4, torch::kFloat32);
  CheckpointContent content = marked_content(5, 5);
  content.weights = {{"a", shared}, {"b", shared}};
  EXPECT_EQ(load_weights(save(content) / "pretrained_model").size(), 2);

  save_safetensors(local_file_system(), directory_.path() / "model.safetensors", {{"a", shared}},
                   {{"format", "pt"}, {"b", "a"}});
  EXPECT_TRUE(torch::equal(load_weights(directory_.path()).at("b"), shared));
}

TEST_F(Checkpoint, MissingWeightsNameTheFolder) {
  EXPECT_THAT([&] { load_weights(directory_.path()); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr(directory_.path().string()), HasSubstr("model.safetensors"))));
}

}  // namespace
}  // namespace lerobot::checkpoint
