#include "lerobot/checkpoint/rng_state.hpp"

#include <gmock/gmock.h>

#include "checkpoint_content.hpp"
#include "lerobot/core/error.hpp"
#include "support/torch.hpp"

namespace lerobot::checkpoint {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(RngState, OfASeedEqualsWhatLeRobotSaved) {
  // The golden run had --seed=1000, and nothing in LeRobot's loop draws from Python's or numpy's generator.
  const TensorMap golden = golden_content().training_state.rng;
  for (const auto& [name, tensor] : initial_rng_state(1000)) {
    EXPECT_EQ(tensor.scalar_type(), golden.at(name).scalar_type()) << name;
    EXPECT_TRUE(torch::equal(tensor, golden.at(name))) << name;
  }
}

TEST(RngState, ACapturedStateContinuesWhereItWasTaken) {
  torch::manual_seed(7);
  torch::randn({5});  // leaves half of a normal pair behind
  const TensorMap state = capture_rng_state(initial_rng_state(7), torch::kCPU);
  const torch::Tensor expected = torch::randn({5});
  torch::manual_seed(8);
  restore_rng_state(state, torch::kCPU, "test");
  EXPECT_TRUE(torch::equal(torch::randn({5}), expected));
}

TEST(RngState, LeRobotsTorchStateIsTaken) {
  const TensorMap golden = golden_content().training_state.rng;
  restore_rng_state(golden, torch::kCPU, "test");
  EXPECT_TRUE(torch::equal(capture_rng_state(golden, torch::kCPU).at("torch_rng_state"), golden.at("torch_rng_state")));
}

TEST(RngState, CarriesOtherEntriesOnUnchanged) {
  TensorMap carried = initial_rng_state(1);
  carried["torch_cuda_rng_state"] = torch::arange(16, torch::kUInt8);
  const TensorMap state = capture_rng_state(carried, torch::kCPU);
  EXPECT_EQ(state.size(), carried.size() + 1);
  for (const auto& [name, tensor] : carried) EXPECT_TRUE(torch::equal(state.at(name), tensor)) << name;
}

TEST(RngState, NamesTheEntryThatIsWrong) {
  const TensorMap good = capture_rng_state(initial_rng_state(1), torch::kCPU);
  TensorMap missing = good;
  missing.erase("np_rng_state_index");
  EXPECT_THAT([&] { restore_rng_state(missing, torch::kCPU, "rng.safetensors"); },
              ThrowsMessage<UsageError>("rng.safetensors: np_rng_state_index is missing"));
  TensorMap short_state = good;
  short_state["py_rng_state"] = torch::zeros({624}, torch::kInt64);
  EXPECT_THAT([&] { restore_rng_state(short_state, torch::kCPU, "rng.safetensors"); },
              ThrowsMessage<UsageError>("rng.safetensors: py_rng_state must be Long[625], got Long of shape [624]"));
  TensorMap foreign = good;
  foreign["torch_rng_state"] = torch::zeros({100}, torch::kUInt8);
  EXPECT_THAT([&] { restore_rng_state(foreign, torch::kCPU, "rng.safetensors"); },
              ThrowsMessage<UsageError>(HasSubstr("rng.safetensors: LibTorch does not accept torch_rng_state")));
}

TEST(RngState, TheAcceleratorsGeneratorContinuesToo) {
  const auto accelerator = at::getAccelerator();
  if (!accelerator || at::accelerator::deviceCount() == 0) GTEST_SKIP() << "no accelerator here";
  const torch::Device device(*accelerator);
  torch::manual_seed(7);
  const TensorMap state = capture_rng_state(initial_rng_state(7), device);
  const torch::Tensor expected = torch::randn({5}, device);
  torch::manual_seed(8);
  restore_rng_state(state, device, "test");
  EXPECT_TRUE(torch::equal(torch::randn({5}, device), expected));
}

}  // namespace
}  // namespace lerobot::checkpoint
