// Files written by Python's torch.save (tests/data/policies/make_act_init_digests.py).
#include "lerobot/policy/torch_pickle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <fstream>
#include <iterator>

#include "lerobot/core/error.hpp"
#include "policy/golden_case.hpp"
#include "support/temporary_directory.hpp"

namespace lerobot::policy {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::filesystem::path pickle(const std::string& name) {
  return policies_data() / "pickle" / name;
}

std::string refusal(const std::filesystem::path& path) {
  try {
    load_torch_checkpoint(path);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void expect_the_saved_tensors(const TensorMap& tensors) {
  EXPECT_EQ(tensors.size(), 6U);
  EXPECT_EQ(tensors.at("conv1.weight").sizes(), (std::vector<int64_t>{2, 3}));
  EXPECT_FALSE(tensors.at("conv1.weight").requires_grad());
  EXPECT_TRUE(torch::equal(tensors.at("bn1.running_mean"), torch::tensor({0.5F, -1.5F})));
  EXPECT_EQ(tensors.at("bn1.num_batches_tracked").item<int64_t>(), 7);
  EXPECT_EQ(tensors.at("bn1.num_batches_tracked").scalar_type(), torch::kInt64);
  const auto whole = torch::arange(24, torch::kFloat32);
  EXPECT_TRUE(torch::equal(tensors.at("shared.whole"), whole));
  EXPECT_EQ(tensors.at("empty").sizes(), (std::vector<int64_t>{0, 4}));
  const auto view = whole.view({4, 6}).slice(0, 1).slice(1, 0, 6, 2).t();
  EXPECT_TRUE(torch::equal(tensors.at("shared.transposed"), view));
  EXPECT_TRUE(tensors.at("shared.transposed").is_contiguous());
}

TEST(TorchPickle, ReadsAnOrderedDictOfParametersAndBuffers) {
  expect_the_saved_tensors(load_torch_checkpoint(pickle("parameters.pth")));
}

TEST(TorchPickle, ReadsAPlainDict) {
  expect_the_saved_tensors(load_torch_checkpoint(pickle("plain_dict.pth")));
}

TEST(TorchPickle, ReadsTheStateDictOfAModuleAndLeavesItsMetadata) {
  const TensorMap tensors = load_torch_checkpoint(pickle("module_with_metadata.pth"));
  EXPECT_EQ(tensors.size(), 2U);
  EXPECT_TRUE(torch::equal(tensors.at("weight"), torch::full({1, 2}, 2.0F)));
  EXPECT_TRUE(torch::equal(tensors.at("bias"), torch::full({1}, -1.0F)));
}

TEST(TorchPickle, RefusesAnyOtherPythonObjectByName) {
  EXPECT_THAT(refusal(pickle("other_global.pth")), AllOf(HasSubstr("other_global.pth"), HasSubstr("`pathlib.")));
}

TEST(TorchPickle, RefusesOtherDtypesByName) {
  EXPECT_THAT(refusal(pickle("double.pth")), HasSubstr("torch.DoubleStorage"));
}

TEST(TorchPickle, RefusesAStorageShorterThanItsTensors) {
  EXPECT_THAT(refusal(pickle("short_storage.pth")), HasSubstr("data/0"));
}

TEST(TorchPickle, SaysThatTheOldFormatIsNotAnArchive) {
  EXPECT_THAT(refusal(pickle("legacy.pth")), HasSubstr("not a ZIP archive"));
}

TEST(TorchPickle, SaysThatAFileIsNotThere) {
  EXPECT_THAT(refusal(pickle("none.pth")), AllOf(HasSubstr("none.pth"), HasSubstr("no such file")));
}

// Whatever byte is wrong, the answer is tensors or a UsageError, never a crash or another exception.
TEST(TorchPickle, SurvivesFlippedBytesAndCuts) {
  const std::string good = read_bytes(pickle("parameters.pth"));
  const testing_support::TemporaryDirectory directory;
  const auto path = directory.path() / "damaged.pth";
  const auto try_bytes = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    refusal(path);
  };
  for (size_t i = 0; i < good.size(); i += 3) {
    std::string damaged = good;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x15);
    EXPECT_NO_THROW(try_bytes(damaged)) << "byte " << i;
  }
  for (size_t length = 0; length < good.size(); length += 41) {
    EXPECT_NO_THROW(try_bytes(good.substr(0, length))) << "cut at " << length;
  }
}

}  // namespace
}  // namespace lerobot::policy
