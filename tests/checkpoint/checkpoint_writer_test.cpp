#include "lerobot/checkpoint/checkpoint_writer.hpp"

#include <gmock/gmock.h>

#include <pthread.h>
#include <csignal>
#include <future>
#include <set>

#include "checkpoint_content.hpp"
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
using testing::HasSubstr;
using testing_support::Fault;
using testing_support::FaultInjectionFileSystem;

class CheckpointWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    log::set_line_writer([this](std::string_view line) { logged_ += line; });
  }
  void TearDown() override { log::set_line_writer({}); }

  CheckpointWriter::Options options() const { return {.output_dir = output_dir_, .total_steps = 100}; }
  fs::path step(const std::string& name) const { return output_dir_ / "checkpoints" / name; }

  testing_support::TemporaryDirectory directory_;
  fs::path output_dir_ = directory_.path();
  FaultInjectionFileSystem files_;
  std::string logged_;  // to be read while nothing is being written
};

TEST_F(CheckpointWriterTest, StoresTheMomentOfTheSaveWhileTheLiveTensorsGoOn) {
  std::promise<void> go_on;
  files_.before_each_operation([gate = go_on.get_future().share()](int64_t) { gate.wait(); });
  CheckpointContent live = marked_content(10, 1);
  CheckpointWriter writer(files_, options());
  writer.save(live);
  live.weights.at("model.weight").fill_(2);
  live.ema->weights.at("model.weight").fill_(2);
  live.training_state.optimizer.at("state/0/step").fill_(2);
  live.training_state.rng.at("torch_rng_state").fill_(2);
  live.training_state.ema->shadow_params[0].fill_(2);
  live.training_state.accumulated_gradients.at("grad/0").fill_(2);
  EXPECT_FALSE(fs::exists(output_dir_ / "checkpoints"));
  go_on.set_value();
  writer.finish();
  EXPECT_EQ(writer.take_failure(), std::nullopt);
  EXPECT_EQ(mark_of(step("000010")), 1);
  EXPECT_THAT(logged_, HasSubstr("saved to " + step("000010").string()));
}

TEST_F(CheckpointWriterTest, WritesInPlaceWhenNotAsynchronous) {
  CheckpointWriter::Options in_place = options();
  in_place.async = false;
  std::set<std::thread::id> threads;
  files_.before_each_operation([&](int64_t) { threads.insert(std::this_thread::get_id()); });
  CheckpointWriter writer(files_, in_place);
  writer.save(marked_content(10, 1));
  EXPECT_EQ(mark_of(resolve_last(output_dir_)), 1);
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
}

TEST_F(CheckpointWriterTest, OneSaveWaitsForTheOneBeforeAndTheEndForTheLast) {
  {
    CheckpointWriter writer(files_, options());
    for (int64_t mark = 1; mark <= 5; ++mark) writer.save(marked_content(10 * mark, mark));
  }
  for (int64_t mark = 1; mark <= 5; ++mark) EXPECT_EQ(mark_of(step(step_directory_name(10 * mark, 100))), mark);
  EXPECT_EQ(mark_of(resolve_last(output_dir_)), 5);
}

TEST_F(CheckpointWriterTest, KeepsAsManyAsTheLimitSays) {
  CheckpointWriter::Options limited = options();
  limited.save_total_limit = 2;
  CheckpointWriter writer(files_, limited);
  for (int64_t mark = 1; mark <= 4; ++mark) writer.save(marked_content(10 * mark, mark));
  writer.finish();
  EXPECT_EQ(step_directories(output_dir_ / "checkpoints"), (std::vector{step("000030"), step("000040")}));
}

TEST_F(CheckpointWriterTest, ARemovalThatFailsIsAWarningOnly) {
  CheckpointWriter::Options limited = options();
  limited.save_total_limit = 1;
  CheckpointWriter writer(files_, limited);
  writer.save(marked_content(10, 1));
  writer.finish();
  // The first save also created the checkpoints folder and synced the one above. So the second ends, and the removal
  // begins, at:
  files_.inject(Fault::kError, files_.operations() + files_.operations() - 2, std::errc::permission_denied);
  writer.save(marked_content(20, 2));
  writer.finish();
  EXPECT_THAT(logged_,
              AllOf(HasSubstr("beyond --save_total_limit=1 could not be removed"), HasSubstr("Permission denied")));
  EXPECT_EQ(writer.take_failure(), std::nullopt);
  EXPECT_EQ(mark_of(resolve_last(output_dir_)), 2);
}

TEST_F(CheckpointWriterTest, AFailureIsAMessageAndTheNextSaveWorks) {
  for (const bool async : {true, false}) {
    FaultInjectionFileSystem files;
    CheckpointWriter::Options chosen = options();
    chosen.async = async;
    CheckpointWriter writer(files, chosen);
    files.inject(Fault::kError, 5, std::errc::no_space_on_device);
    writer.save(marked_content(10, 1));
    writer.finish();
    EXPECT_THAT(writer.take_failure().value_or(""),
                AllOf(HasSubstr("the checkpoint of step 10 could not be saved"), HasSubstr("No space left on device"),
                      HasSubstr("--save_total_limit")));
    EXPECT_EQ(writer.take_failure(), std::nullopt);
    writer.save(marked_content(20, 2));
    writer.finish();
    EXPECT_EQ(writer.take_failure(), std::nullopt);
    EXPECT_EQ(mark_of(resolve_last(output_dir_)), 2);
  }
}

TEST_F(CheckpointWriterTest, AnyExceptionBecomesAMessage) {
  const std::pair<std::function<void()>, const char*> cases[] = {
      {[] { throw std::bad_alloc(); }, "step 10 could not be saved: out of memory"},
      {[] { TORCH_CHECK(false, "tensors went wrong"); }, "tensors went wrong"},
      {[] { throw std::logic_error("unforeseen"); }, "unforeseen"},
      {[] { throw 7; }, "an unknown error"}};
  for (const auto& [raise, message] : cases) {
    CheckpointWriter writer(files_, options());
    CheckpointContent content = marked_content(10, 1);
    content.write_processors = [raise = raise](FileSystem&, const fs::path&) { raise(); };
    writer.save(std::move(content));
    writer.finish();
    EXPECT_THAT(writer.take_failure().value_or(""), AllOf(HasSubstr(message), testing::Not(HasSubstr("#0"))));
  }
}

TEST_F(CheckpointWriterTest, AFailureThatNobodyTookIsLogged) {
  {
    CheckpointWriter writer(files_, options());
    files_.inject(Fault::kError, 5);
    writer.save(marked_content(10, 1));
  }
  EXPECT_THAT(logged_, AllOf(HasSubstr("ERROR"), HasSubstr("the checkpoint of step 10 could not be saved")));
}

TEST_F(CheckpointWriterTest, NoSignalIsDeliveredToTheWriter) {
  sigset_t blocked;
  sigemptyset(&blocked);
  CheckpointContent content = marked_content(10, 1);
  content.write_processors = [&](FileSystem&, const fs::path&) { pthread_sigmask(SIG_SETMASK, nullptr, &blocked); };
  CheckpointWriter writer(files_, options());
  writer.save(std::move(content));
  writer.finish();
  sigset_t here;
  pthread_sigmask(SIG_SETMASK, nullptr, &here);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    EXPECT_EQ(sigismember(&blocked, signal), 1) << signal;
    EXPECT_EQ(sigismember(&here, signal), 0) << signal;
  }
}

TEST(Snapshot, OwnsItsMemoryAndCopiesWhatIsSharedOnce) {
  const torch::Tensor averaged = torch::arange(6, torch::kFloat32).reshape({2, 3});
  CheckpointContent live;
  live.weights = {{"a", averaged.t().requires_grad_(true)}, {"empty", torch::empty({0, 3})}};
  live.ema = EmaContent{.weights = {{"a", averaged}}};
  live.training_state.ema = optim::EmaState{.shadow_params = {averaged}};
  const CheckpointContent copy = snapshot(live);
  const torch::Tensor a = copy.weights.at("a");
  EXPECT_TRUE(torch::equal(a, averaged.t()));
  EXPECT_TRUE(a.is_contiguous() && !a.requires_grad());
  EXPECT_NE(a.data_ptr(), averaged.data_ptr());
  EXPECT_EQ(copy.weights.at("empty").sizes(), (std::vector<int64_t>{0, 3}));
  EXPECT_NE(copy.ema->weights.at("a").data_ptr(), averaged.data_ptr());
  EXPECT_EQ(copy.ema->weights.at("a").data_ptr(), copy.training_state.ema->shadow_params[0].data_ptr());
}

}  // namespace
}  // namespace lerobot::checkpoint
