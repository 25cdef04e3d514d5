// Files written by Python's torch.save (tests/data/policies/make_act_init_digests.py).
#include "lerobot/core/torch_pickle.hpp"

#include <caffe2/serialize/inline_container.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <array>
#include <fstream>
#include <iterator>
#include <limits>

#include "lerobot/core/error.hpp"
#include "support/fault_injection_file_system.hpp"
#include "support/temporary_directory.hpp"

namespace lerobot {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::filesystem::path pickle(const std::string& name) {
  return std::filesystem::path(LEROBOT_TEST_DATA) / "policies" / "pickle" / name;
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

// An archive with a data.pkl of our making and one storage of four bytes.
class TorchPickleProgram : public testing::Test {
 protected:
  std::string refusal_of(std::string_view program) {
    caffe2::serialize::PyTorchStreamWriter writer(path_.string());
    writer.writeRecord("data.pkl", program.data(), program.size());
    writer.writeRecord("data/0", "\0\0\0\0", 4);
    writer.writeEndOfFile();
    try {
      load_torch_pickle(path_);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  // The opcodes that make a tensor of the storage; size and stride are opcodes of tuples.
  static std::string tensor(const std::string& size, const std::string& stride) {
    using namespace std::string_literals;
    return "\x80\x02"s + "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\n"s +
           "X\x01\0\0\0"s + "0X\x03\0\0\0cpuK\x01tQK\0"s + size + stride +
           "\x89"
           "ccollections\nOrderedDict\n)RtR."s;
  }

  testing_support::TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_.path() / "made.pt";
};

TEST_F(TorchPickleProgram, AcceptsATensorThatFitsItsStorage) {
  EXPECT_EQ(refusal_of(tensor("(K\x01t", "(K\x01t")), "");
}

TEST_F(TorchPickleProgram, RefusesATensorLargerThanItsStorageThatSaysItRepeatsOneElement) {
  using namespace std::string_literals;
  EXPECT_THAT(refusal_of(tensor("(J\0\0\0\x40t"s, "(K\0t"s)), HasSubstr("[1073741824]"));
}

TEST_F(TorchPickleProgram, RefusesAListThatContainsItself) {
  using namespace std::string_view_literals;
  EXPECT_THAT(refusal_of("\x80\x02]q\0h\0a."sv), HasSubstr("deep"));
}

TEST_F(TorchPickleProgram, RefusesAFewBytesThatStandForBillionsOfValues) {
  std::string program = "\x80\x02](NNNNNNNNNNeq";
  program += '\0';
  for (char level = 0; level < 10; ++level) {
    program += "](";
    for (int i = 0; i < 10; ++i) program += std::string{'h', level};
    program += std::string{'e', 'q', static_cast<char>(level + 1)};
  }
  EXPECT_THAT(refusal_of(program + '.'), HasSubstr("repeats"));
}

TEST_F(TorchPickleProgram, RefusesKeysThatAreNoTexts) {
  EXPECT_THAT(refusal_of("\x80\x02}K\x01K\x02s."), HasSubstr("key"));
}

TEST_F(TorchPickleProgram, RefusesAKeyGivenTwice) {
  using namespace std::string_view_literals;
  EXPECT_THAT(refusal_of("\x80\x02}(X\x01\0\0\0aNX\x01\0\0\0aNu."sv), HasSubstr("`a` twice"));
}

TEST_F(TorchPickleProgram, RefusesMarksAndStoragesAsValues) {
  EXPECT_THAT(refusal_of("\x80\x02(."), HasSubstr("something else"));
  EXPECT_THAT(refusal_of("\x80\x02"
                         "ctorch\nFloatStorage\n."),
              HasSubstr("something else"));
}

std::string record(const std::filesystem::path& path, const std::string& name) {
  caffe2::serialize::PyTorchStreamReader reader(path.string());
  const auto [bytes, size] = reader.getRecord(name);
  return {static_cast<const char*>(bytes.get()), size};
}

// The bytes were tried on torch.load(weights_only=True) of PyTorch 2.11.
TEST(TorchPickleWriter, WritesTheOpcodesThatWeightsOnlyLoadingAccepts) {
  using namespace std::string_literals;
  const testing_support::TemporaryDirectory directory;
  const auto path = directory.path() / "written.pt";
  const auto tensor = torch::tensor({{1.0F, 2.0F}, {3.0F, 4.0F}}).t();
  save_torch_pickle(local_file_system(), path,
                    {PickleValue::Dict{{"a", {PickleValue::List{{true}, {1.0}, {int64_t{-2}}, {}}}}, {"b", {tensor}}}});
  EXPECT_EQ(record(path, "data.pkl"),
            "\x80\x02}("s
            "X\x01\0\0\0a](\x88G\x3f\xf0\0\0\0\0\0\0J\xfe\xff\xff\xffNe"
            "X\x01\0\0\0bctorch._utils\n_rebuild_tensor_v2\n("
            "(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0"s
            "0X\x03\0\0\0cpuK\x04tQK\0(K\x02K\x02t(K\x02K\x01t\x89"
            "ccollections\nOrderedDict\n)RtRu."s);
  EXPECT_EQ(record(path, "byteorder"), "little");
  EXPECT_EQ(record(path, "data/0").size(), 16U);
}

TEST(TorchPickleWriter, ReadsBackEveryKindOfValue) {
  const testing_support::TemporaryDirectory directory;
  const auto path = directory.path() / "written.pt";
  constexpr std::array<int64_t, 8> kIntegers{0,
                                             255,
                                             256,
                                             -1,
                                             int64_t{1} << 31,
                                             -(int64_t{1} << 40),
                                             std::numeric_limits<int64_t>::min(),
                                             std::numeric_limits<int64_t>::max()};
  PickleValue::List integers;
  for (const int64_t integer : kIntegers) integers.push_back({integer});
  const std::array<torch::Tensor, 5> kTensors{
      torch::arange(12, torch::kFloat32).view({3, 4}).t(), torch::tensor({1.5F, -2.0F}).to(torch::kHalf),
      torch::tensor(0.25F).to(torch::kBFloat16), torch::tensor({int64_t{1} << 60}), torch::empty({0, 3})};
  PickleValue::List tensors;
  for (const torch::Tensor& tensor : kTensors) tensors.push_back({tensor});
  save_torch_pickle(local_file_system(), path,
                    {PickleValue::Dict{{"integers", {integers}},
                                       {"tensors", {tensors}},
                                       {"no list", {PickleValue::List{}}},
                                       {"dict", {PickleValue::Dict{{"\u03b1", {0.1}}}}}}});

  const auto dict = std::get<PickleValue::Dict>(load_torch_pickle(path).data);
  ASSERT_EQ(dict.size(), 4U);
  const auto& read_integers = std::get<PickleValue::List>(dict[0].second.data);
  for (size_t i = 0; i < kIntegers.size(); ++i) EXPECT_EQ(std::get<int64_t>(read_integers[i].data), kIntegers[i]);
  const auto& read_tensors = std::get<PickleValue::List>(dict[1].second.data);
  for (size_t i = 0; i < kTensors.size(); ++i) {
    const auto& tensor = std::get<torch::Tensor>(read_tensors[i].data);
    EXPECT_EQ(tensor.scalar_type(), kTensors[i].scalar_type()) << i;
    EXPECT_TRUE(torch::equal(tensor, kTensors[i])) << i;
  }
  EXPECT_TRUE(std::get<PickleValue::List>(dict[2].second.data).empty());
  const auto& inner = std::get<PickleValue::Dict>(dict[3].second.data);
  EXPECT_EQ(inner[0].first, "\u03b1");
  EXPECT_EQ(std::get<double>(inner[0].second.data), 0.1);
}

TEST(TorchPickleWriter, RefusesADtypeThatItCannotReadBack) {
  const testing_support::TemporaryDirectory directory;
  EXPECT_THROW(save_torch_pickle(local_file_system(), directory.path() / "written.pt",
                                 {PickleValue::List{{torch::zeros({2}, torch::kFloat64)}}}),
               RunError);
}

// Larger than the pieces that go to the file, so that some operations are in the midst of the archive.
TEST(TorchPickleWriter, SaysWhenTheDiskRefusesAnyOfItsOperations) {
  const testing_support::TemporaryDirectory directory;
  const auto path = directory.path() / "written.pt";
  const PickleValue value{PickleValue::List{{torch::zeros({1 << 19})}, {torch::ones({3})}}};
  testing_support::FaultInjectionFileSystem sound;
  save_torch_pickle(sound, path, value);
  ASSERT_GE(sound.operations(), 6);  // create, three appends or more, sync, close
  for (int64_t operation = 0; operation < sound.operations(); ++operation) {
    testing_support::FaultInjectionFileSystem failing;
    failing.inject(testing_support::Fault::kError, operation);
    EXPECT_THROW(save_torch_pickle(failing, path, value), RunError) << operation;
    testing_support::FaultInjectionFileSystem dying;
    dying.inject(testing_support::Fault::kCrash, operation);
    EXPECT_THROW(save_torch_pickle(dying, path, value), testing_support::SimulatedCrash) << operation;
  }
}

}  // namespace
}  // namespace lerobot
