// Expected bytes are those of safetensors 0.8's torch.save for the same tensors.
#include "lerobot/core/safetensors.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "lerobot/core/error.hpp"
#include "support/temporary_directory.hpp"
#include "support/torch.hpp"

namespace lerobot {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::string with_length(const std::string& header, const std::string& data = "") {
  const uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + header + data;
}

std::string entry(const std::string& body) {
  return "{\"x\":{" + body + "}}";
}

class Safetensors : public testing::Test {
 protected:
  std::string saved(const TensorMap& tensors, const std::map<std::string, std::string>& metadata = {}) {
    save_safetensors(local_file_system(), path_, tensors, metadata);
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  SafetensorsFile opened(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return SafetensorsFile(path_);
  }

  void expect_round_trip(const torch::Tensor& tensor) {
    save_safetensors(local_file_system(), path_, {{"x", tensor}});
    const torch::Tensor read = load_safetensors(path_).at("x");
    EXPECT_EQ(read.scalar_type(), tensor.scalar_type());
    EXPECT_EQ(read.sizes(), tensor.sizes());
    EXPECT_TRUE(read.is_contiguous());
    EXPECT_TRUE(torch::equal(read, tensor.cpu())) << tensor.scalar_type();
  }

  testing_support::TemporaryDirectory directory_;
  fs::path path_ = directory_.path() / "x.safetensors";
};

TEST_F(Safetensors, WritesDtypesFromWideToNarrowAsPythonDoes) {
  TensorMap tensors;
  const std::vector<torch::ScalarType> dtypes = {torch::kBool,    torch::kUInt8,  torch::kInt8,    torch::kInt16,
                                                 torch::kInt32,   torch::kInt64,  torch::kFloat16, torch::kBFloat16,
                                                 torch::kFloat32, torch::kFloat64};
  for (size_t i = 0; i < dtypes.size(); ++i) tensors["t" + std::to_string(i)] = torch::zeros({1}, dtypes[i]);
  EXPECT_EQ(saved(tensors), with_length(R"({"t5":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
                                        R"("t9":{"dtype":"F64","shape":[1],"data_offsets":[8,16]},)"
                                        R"("t8":{"dtype":"F32","shape":[1],"data_offsets":[16,20]},)"
                                        R"("t4":{"dtype":"I32","shape":[1],"data_offsets":[20,24]},)"
                                        R"("t7":{"dtype":"BF16","shape":[1],"data_offsets":[24,26]},)"
                                        R"("t6":{"dtype":"F16","shape":[1],"data_offsets":[26,28]},)"
                                        R"("t3":{"dtype":"I16","shape":[1],"data_offsets":[28,30]},)"
                                        R"("t2":{"dtype":"I8","shape":[1],"data_offsets":[30,31]},)"
                                        R"("t1":{"dtype":"U8","shape":[1],"data_offsets":[31,32]},)"
                                        R"("t0":{"dtype":"BOOL","shape":[1],"data_offsets":[32,33]}}  )",
                                        std::string(33, '\0')));
}

TEST_F(Safetensors, WritesMetadataFirstAndNamesUnescaped) {
  EXPECT_EQ(saved({{"b\n\x01é", torch::zeros({0, 3})}}, {{"format", "pt"}}),
            with_length(R"({"__metadata__":{"format":"pt"},"b\n\u0001é":{"dtype":"F32","shape":[0,3],)"
                        R"("data_offsets":[0,0]}}       )"));
}

TEST_F(Safetensors, WritesAnEmptyMap) {
  EXPECT_EQ(saved({}), with_length("{}      "));
  EXPECT_TRUE(SafetensorsFile(path_).names().empty());
}

TEST_F(Safetensors, RoundTripsEveryDtypeBitForBit) {
  for (const auto dtype : {torch::kUInt8, torch::kInt8, torch::kInt16, torch::kInt32, torch::kInt64, torch::kFloat16,
                           torch::kBFloat16, torch::kFloat32, torch::kFloat64}) {
    expect_round_trip(torch::arange(-6, 6).to(dtype).reshape({3, 4}));
  }
  expect_round_trip(torch::arange(6) % 2 == 0);
}

TEST_F(Safetensors, RoundTripsScalarsAndEmptyTensors) {
  expect_round_trip(torch::tensor(3.5));
  expect_round_trip(torch::empty({0}));
  expect_round_trip(torch::empty({2, 0, 3}, torch::kInt64));
}

TEST_F(Safetensors, WritesViewsInTheirLogicalOrder) {
  const torch::Tensor base = torch::arange(24, torch::kFloat32).reshape({2, 3, 4});
  expect_round_trip(base.transpose(0, 2));
  expect_round_trip(base.select(1, 1));
  expect_round_trip(base.slice(2, 0, 4, 2));
  expect_round_trip(torch::arange(3, torch::kFloat32).expand({2, 3}));
  expect_round_trip(base.reshape({1, 2, 3, 4}).contiguous(torch::MemoryFormat::ChannelsLast));
}

TEST_F(Safetensors, WritesNamesThatShareMemoryInFull) {
  const torch::Tensor shared = torch::arange(4, torch::kFloat32).set_requires_grad(true);
  save_safetensors(local_file_system(), path_, {{"a", shared}, {"b", shared}, {"c", shared.slice(0, 2, 4)}});
  TensorMap read = load_safetensors(path_);
  EXPECT_TRUE(torch::equal(read["a"], shared));
  EXPECT_TRUE(torch::equal(read["b"], shared));
  EXPECT_TRUE(torch::equal(read["c"], shared.slice(0, 2, 4)));
  read["a"].zero_();
  EXPECT_EQ(read["b"][3].item<float>(), 3.0F);
}

TEST_F(Safetensors, RefusesADtypeTheFormatLacks) {
  EXPECT_THAT(
      [&] {
        saved({{"z", torch::zeros({1}, torch::kComplexFloat)}});
      },
      ThrowsMessage<RunError>(AllOf(HasSubstr(path_.string()), HasSubstr("\"z\""), HasSubstr("ComplexFloat"))));
}

TEST_F(Safetensors, ReadsNamesInHeaderOrderAndMetadata) {
  const SafetensorsFile file =
      opened(with_length(R"({"z":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},"__metadata__":{"format":"pt"},)"
                         R"("a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})",
                         "\x07\x08\x09"));
  EXPECT_THAT(file.names(), ElementsAre("z", "a"));
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_TRUE(file.contains("a"));
  EXPECT_FALSE(file.contains("__metadata__"));
  EXPECT_EQ(file.tensor("a").item<int>(), 7);
  EXPECT_TRUE(torch::equal(file.tensor("z"), torch::tensor({8, 9}, torch::kUInt8)));
}

TEST_F(Safetensors, ReadsDataThatIsNotAligned) {
  const SafetensorsFile file = opened(with_length(
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})",
      std::string("\x01\x00\x00\x80\x3f", 5)));
  EXPECT_EQ(file.tensor("b").item<float>(), 1.0F);
}

TEST_F(Safetensors, RefusesABoolThatIsNeitherTrueNorFalse) {
  const SafetensorsFile file = opened(with_length(entry(R"("dtype":"BOOL","shape":[2],"data_offsets":[0,2])"), "\1\2"));
  EXPECT_THAT([&] { file.tensor("x"); }, ThrowsMessage<UsageError>(HasSubstr("BOOL bytes must be 0 or 1")));
}

TEST_F(Safetensors, SuggestsANearName) {
  const SafetensorsFile file = opened(with_length(R"({"weight":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"));
  EXPECT_THAT([&] { file.tensor("wieght"); },
              ThrowsMessage<UsageError>(path_.string() + ": no tensor named \"wieght\". Did you mean `weight`?"));
}

TEST_F(Safetensors, AMissingFileIsNamed) {
  EXPECT_THAT([&] { SafetensorsFile{path_}; },
              ThrowsMessage<UsageError>("cannot read " + path_.string() + ": No such file or directory"));
  EXPECT_THAT([&] { SafetensorsFile{directory_.path()}; }, ThrowsMessage<UsageError>(HasSubstr("Is a directory")));
}

TEST_F(Safetensors, RefusesMalformedFiles) {
  const std::string ok = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  const std::string eight(8, '\0');
  struct Case {
    std::string bytes;
    std::string message;
  };
  const std::vector<Case> table = {
      {"", "0 bytes are too few"},
      {"\x02\0\0", "too few for a safetensors file"},
      {std::string(8, '\xff'), "a header of 18446744073709551615 bytes is announced"},
      {std::string("\x01\xe1\xf5\x05\0\0\0\0", 8), "at most 100000000 are allowed"},
      {std::string("\x09\0\0\0\0\0\0\0{}", 10), "cut off inside the header: 9 bytes are announced, 2 are there"},
      {with_length(""), "does not begin with `{`"},
      {with_length("[]"), "does not begin with `{`"},
      {with_length("PK\x03\x04"), "not a safetensors file"},
      {with_length("{\"x\":}"), "header: line 1, column 6"},
      {with_length("{} x"), "header: line 1, column 4: unexpected text"},
      {with_length("{\"\xff\":{" + ok + "}}", eight), "header: not valid UTF-8"},
      {with_length("{\"x\":{" + ok + "},\"x\":{" + ok + "}}", eight), "the key \"x\" stands twice"},
      {with_length(R"({"__metadata__":{"a":1}})"), "the value of \"a\" must be a string"},
      {with_length(R"({"__metadata__":[]})"), "__metadata__ must be an object"},
      {with_length(R"({"x":[]})"), "tensor \"x\": must be an object"},
      {with_length(entry(R"("dtype":"F32","shape":[2])"), eight), "tensor \"x\": data_offsets is missing"},
      {with_length(entry(R"("shape":[2],"data_offsets":[0,8])"), eight), "dtype is missing"},
      {with_length(entry(R"("dtype":"F32","data_offsets":[0,8])"), eight), "shape is missing"},
      {with_length(entry(ok + R"(,"stride":[1])"), eight), "unknown key stride"},
      {with_length(entry(R"("dtype":"F31","shape":[2],"data_offsets":[0,8])"), eight), "dtype \"F31\" is not one of"},
      {with_length(entry(R"("dtype":"U64","shape":[1],"data_offsets":[0,8])"), eight), "dtype \"U64\" is not one of"},
      {with_length(entry(R"("dtype":7,"shape":[2],"data_offsets":[0,8])"), eight), "dtype 7 is not one of"},
      {with_length(entry(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"), eight), "shape must be a list of"},
      {with_length(entry(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])"), eight), "got [2.0]"},
      {with_length(entry(R"("dtype":"F32","shape":2,"data_offsets":[0,8])"), eight), "shape must be a list of"},
      {with_length(entry(R"("dtype":"F32","shape":[true],"data_offsets":[0,8])"), eight), "got [true]"},
      {with_length(entry(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8])"), eight),
       "shape must be a list of"},
      {with_length(entry(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), eight), "begin <= end"},
      {with_length(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0])"), eight), "[begin, end]"},
      {with_length(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), eight), "needs 8 bytes"},
      {with_length(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,12])"), eight), "data_offsets span 12"},
      // 2^62 * 4 bytes and 2^32 * 2^32 wrap round to 0 in 64 bits.
      {with_length(entry(R"("dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0])")), "is too large"},
      {with_length(entry(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0])")), "is too large"},
      {with_length(entry(R"("dtype":"U8","shape":[0,4294967296,4294967296],"data_offsets":[0,0])")), "is too large"},
      {with_length(entry(ok), "1234567"), "ends at byte 8, but the file holds 7; it is cut off"},
      {with_length(entry(ok), "123456789"), "1 unexpected bytes stand after the last tensor"},
      {with_length(entry(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), eight),
       "4 unused bytes stand before it"},
      {with_length(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                   R"("b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
                   "123456"),
       "tensor \"b\": overlaps the tensor before it"},
      {with_length(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                   R"("b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}})",
                   "1234"),
       "tensor \"b\": 2 unused bytes"},
  };
  for (const Case& each : table) {
    EXPECT_THAT([&] { opened(each.bytes); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr(path_.string()), HasSubstr(each.message))))
        << each.message;
  }
}

TEST_F(Safetensors, AFileThatShrinksWhileItIsOpenGivesAnError) {
  const std::string whole = saved({{"x", torch::ones({1 << 16})}});
  const SafetensorsFile file(path_);
  fs::resize_file(path_, whole.size() - 4);
  EXPECT_THAT([&] { file.tensor("x"); },
              ThrowsMessage<UsageError>(path_.string() + ": became shorter while it was read"));
  fs::resize_file(path_, 0);
  EXPECT_THAT([&] { file.tensors(); }, ThrowsMessage<UsageError>(HasSubstr("became shorter")));
}

TEST_F(Safetensors, ReadsEmptyTensorsBetweenOthers) {
  const SafetensorsFile file = opened(with_length(
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"e":{"dtype":"F32","shape":[0],"data_offsets":[1,1]},)"
      R"("b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
      "\x01\x02"));
  EXPECT_EQ(file.tensor("e").sizes(), (std::vector<int64_t>{0}));
  EXPECT_EQ(file.tensor("b").item<int>(), 2);
}

TEST_F(Safetensors, TheTensorsOfAWrittenFileBeginAtAMultipleOfEight) {
  for (size_t length = 1; length <= 9; ++length) {
    const std::string bytes = saved({{std::string(length, 'n'), torch::ones({3})}});
    EXPECT_EQ((bytes.size() - 3 * sizeof(float)) % 8, 0U) << length;
  }
}

TEST_F(Safetensors, EveryTruncationIsRefused) {
  const std::string whole = saved({{"a", torch::ones({3})}, {"b", torch::ones({2}, torch::kInt64)}});
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(opened(whole.substr(0, length)), UsageError) << length;
  }
}

}  // namespace
}  // namespace lerobot
