#include "lerobot/dataset/batch_transfer.hpp"

#include <gmock/gmock.h>

#include "lerobot/core/error.hpp"

namespace lerobot::dataset {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Batch small_batch() {
  Batch batch;
  batch.tensors["camera"] = torch::tensor({0, 51, 255}, torch::kUInt8);
  batch.tensors["index"] = torch::tensor({7}, torch::kInt64);
  batch.tensors["is_pad"] = torch::tensor({true});
  batch.task = {"push"};
  return batch;
}

TEST(BatchTransfer, TurnsBytesIntoFloatsBetweenZeroAndOneAndKeepsTheRest) {
  const Batch moved = batch_to_device(small_batch(), torch::kCPU);
  EXPECT_TRUE(moved.at("camera").equal(torch::tensor({0.0F, 0.2F, 1.0F})));
  EXPECT_EQ(moved.at("index").scalar_type(), torch::kInt64);
  EXPECT_EQ(moved.at("is_pad").scalar_type(), torch::kBool);
  EXPECT_THAT(moved.task, ElementsAre("push"));
}

// x / 255 as LeRobot computes it, not x * (1 / 255), which differs in the last bit.
TEST(BatchTransfer, DividesEveryByteValueExactly) {
  Batch batch;
  batch.tensors["camera"] = torch::arange(256, torch::kInt64).to(torch::kUInt8);
  to_float_images(batch);
  for (int value = 0; value < 256; ++value)
    EXPECT_EQ(batch.at("camera")[value].item<float>(), static_cast<float>(value) / 255.0F);
}

TEST(BatchTransfer, CopiesToAnAcceleratorThroughPageLockedMemory) {
  const auto accelerator = at::getAccelerator();
  if (!accelerator || !torch::globalContext().hasCUDA()) GTEST_SKIP() << "no accelerator here";
  const Batch moved = batch_to_device(small_batch(), torch::Device(*accelerator, 0));
  EXPECT_TRUE(moved.at("camera").device().type() == *accelerator);
  EXPECT_TRUE(moved.at("camera").cpu().equal(torch::tensor({0.0F, 0.2F, 1.0F})));
  EXPECT_EQ(moved.at("index").cpu().item<int64_t>(), 7);
}

TEST(Batch, NamesTheKeysItHasWhenAskedForAnother) {
  EXPECT_THAT([] { small_batch().at("state"); },
              ThrowsMessage<RunError>(AllOf(HasSubstr("`state`"), HasSubstr("camera, index, is_pad"))));
}

}  // namespace
}  // namespace lerobot::dataset
