#include "lerobot/dataset/dataset.hpp"

#include <arrow/api.h>
#include <gmock/gmock.h>

#include <fstream>
#include <limits>
#include <numeric>

#include "dataset/captured_log.hpp"
#include "dataset/sha256.hpp"
#include "dataset/toy_dataset.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/json.hpp"
#include "lerobot/dataset/loader.hpp"
#include "parquet_file.hpp"
#include "support/torch.hpp"

namespace lerobot::dataset {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;
using testing_support::arrow_column;
using testing_support::CapturedLog;
using testing_support::ToyDataset;
using Rows = std::vector<int64_t>;

const std::filesystem::path kDatasets = std::filesystem::path(LEROBOT_TEST_DATA) / "datasets";

LeRobotDataset open(Metadata metadata, DatasetOptions options = {}) {
  if (options.episodes.empty()) options.episodes = choose_episodes(metadata, std::nullopt);
  return {std::make_shared<const Metadata>(std::move(metadata)), std::move(options)};
}

LeRobotDataset open(const ToyDataset& toy, DatasetOptions options = {}) {
  return open(toy.load(), std::move(options));
}

LeRobotDataset open_sample_b(DatasetOptions options = {}) {
  return open(load_metadata(kDatasets / "sample_dataset_b", "sample/b"), std::move(options));
}

const Json& golden() {
  static const Json expected = read_json(kDatasets / "sample_dataset_b_expected.json");
  return expected;
}

std::string sha256_of(const torch::Tensor& bytes) {
  const torch::Tensor packed = bytes.contiguous();
  return testing_support::sha256({static_cast<const std::byte*>(packed.data_ptr()), packed.nbytes()});
}

Rows all_rows(const LeRobotDataset& dataset) {
  Rows rows(dataset.num_frames());
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

std::vector<float> floats(const torch::Tensor& tensor) {
  const torch::Tensor packed = tensor.contiguous();
  return {packed.data_ptr<float>(), packed.data_ptr<float>() + packed.numel()};
}

std::string refusal(const ToyDataset& toy, DatasetOptions options = {}) {
  try {
    open(toy, std::move(options));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Dataset, GivesTheItemsThatLeRobotGives) {
  const LeRobotDataset dataset = open_sample_b();
  ASSERT_EQ(dataset.num_frames(), 90);
  const Batch batch = dataset.get(all_rows(dataset));
  for (int64_t i = 0; i < 90; ++i) {
    const Json& frame = golden().at("frames").at(i);
    EXPECT_EQ(batch.at("index")[i].item<int64_t>(), i);
    EXPECT_EQ(batch.at("episode_index")[i].item<int64_t>(), frame.at("episode_index"));
    EXPECT_EQ(batch.at("timestamp")[i].item<float>(), frame.at("timestamp").get<float>());
    EXPECT_EQ(batch.task[i], frame.at("task"));
    EXPECT_EQ(sha256_of(batch.at("observation.images.cam")[i]), frame.at("cam_sha256_chw_u8")) << i;
    const torch::Tensor wrist = batch.at("observation.images.wrist")[i].mul(255).round().to(torch::kUInt8);
    EXPECT_EQ(sha256_of(wrist), frame.at("wrist_sha256_chw_u8")) << i;
  }
}

TEST(Dataset, GivesLeRobotsTypesAndShapes) {
  const LeRobotDataset dataset = open_sample_b();
  const Batch batch = dataset.get(Rows{3, 40});
  const auto is = [&](const char* key, torch::ScalarType dtype, std::vector<int64_t> shape) {
    return batch.at(key).scalar_type() == dtype && batch.at(key).sizes() == torch::IntArrayRef(shape);
  };
  EXPECT_TRUE(is("observation.state", torch::kFloat32, {2, 6}));
  EXPECT_TRUE(is("action", torch::kFloat32, {2, 6}));
  EXPECT_TRUE(is("observation.images.cam", torch::kUInt8, {2, 3, 96, 96}));
  EXPECT_TRUE(is("observation.images.wrist", torch::kFloat32, {2, 3, 96, 96}));
  EXPECT_TRUE(is("timestamp", torch::kFloat32, {2}));
  EXPECT_TRUE(is("frame_index", torch::kInt64, {2}));
  EXPECT_TRUE(is("task_index", torch::kInt64, {2}));
  EXPECT_EQ(batch.tensors.size(), 9);
}

TEST(Dataset, PadsWindowsAtTheEndsOfEpisodesAsLeRobot) {
  DatasetOptions options;
  options.delta_indices = {{"observation.state", {-1, 0}}, {"observation.images.cam", {-1, 0}}};
  std::vector<int64_t> chunk(16);
  std::iota(chunk.begin(), chunk.end(), -1);
  options.delta_indices.set("action", chunk);
  const LeRobotDataset dataset = open_sample_b(options);
  for (const auto& [index, expected] : golden().at("delta_diffusion_like").items()) {
    const Batch batch = dataset.get(Rows{std::stoll(index)});
    const auto pads = [&](const char* key) {
      std::vector<bool> values;
      for (int64_t i = 0; i < batch.at(key).size(1); ++i) values.push_back(batch.at(key)[0][i].item<bool>());
      return values;
    };
    EXPECT_EQ(pads("observation.state_is_pad"), expected.at("state_is_pad").get<std::vector<bool>>()) << index;
    EXPECT_EQ(pads("action_is_pad"), expected.at("action_is_pad").get<std::vector<bool>>()) << index;
    EXPECT_EQ(floats(batch.at("action")[0][0]), expected.at("action_first").get<std::vector<float>>()) << index;
    EXPECT_EQ(floats(batch.at("action")[0][15]), expected.at("action_last").get<std::vector<float>>()) << index;
    EXPECT_EQ(batch.at("observation.images.cam").sizes(), torch::IntArrayRef({1, 2, 3, 96, 96}));
  }
}

TEST(Dataset, CopiesTheBorderFrameOfCamerasIntoThePadding) {
  DatasetOptions options;
  options.delta_indices = {{"observation.images.cam", {-1, 0, 1}}, {"observation.images.wrist", {-1, 0, 1}}};
  const Batch batch = open_sample_b(options).get(Rows{30, 59});
  for (const char* camera : {"observation.images.cam", "observation.images.wrist"}) {
    const torch::Tensor& frames = batch.at(camera);
    EXPECT_TRUE(frames[0][0].equal(frames[0][1])) << camera;
    EXPECT_FALSE(frames[0][1].equal(frames[0][2])) << camera;
    EXPECT_TRUE(frames[1][1].equal(frames[1][2])) << camera;
    EXPECT_TRUE(batch.at(std::string(camera) + "_is_pad")
                    .equal(torch::tensor({true, false, false, false, false, true}).reshape({2, 3})));
  }
}

TEST(Dataset, KeepsTheTimeAxisOfAWindowOfOne) {
  DatasetOptions options;
  options.delta_indices = {{"observation.state", {0}}, {"timestamp", {0}}};
  const Batch batch = open(ToyDataset(), options).get(Rows{1, 2});
  EXPECT_EQ(batch.at("observation.state").sizes(), torch::IntArrayRef({2, 1, 2}));
  EXPECT_EQ(batch.at("timestamp").sizes(), torch::IntArrayRef({2, 1}));
  EXPECT_EQ(batch.at("timestamp_is_pad").sizes(), torch::IntArrayRef({2, 1}));
}

TEST(Dataset, GivesTheSameBatchesToManyThreads) {
  DatasetOptions options;
  options.delta_indices = {{"observation.images.cam", {-1, 0}}, {"action", {0, 1, 2}}};
  options.image_cache_bytes = 20000;  // fewer than the images take, so that threads evict each other's
  const LeRobotDataset dataset = open_sample_b(options);
  const EpisodeAwareSampler sampler(dataset.episodes(), {.seed = 1000});
  const auto assemble = [&](const BatchPlan& plan) { return dataset.get(plan.rows); };
  DataLoader alone(BatchCursor(sampler, {.batch_size = 8}), assemble, {.num_workers = 0});
  DataLoader threaded(BatchCursor(sampler, {.batch_size = 8}), assemble, {.num_workers = 3});
  for (int i = 0; i < 14; ++i) {
    const Batch expected = alone.next();
    const Batch batch = threaded.next();
    ASSERT_EQ(batch.tensors.size(), expected.tensors.size());
    for (const auto& [key, tensor] : expected.tensors) EXPECT_TRUE(batch.at(key).equal(tensor)) << key;
    EXPECT_EQ(batch.task, expected.task);
  }
}

TEST(Dataset, ReadsTheEnvironmentState) {
  const LeRobotDataset dataset = open(load_metadata(kDatasets / "sample_dataset_env", "sample/env"));
  const Batch batch = dataset.get(Rows{0, 35});
  EXPECT_EQ(batch.at("observation.environment_state").sizes(), torch::IntArrayRef({2, 3}));
  EXPECT_EQ(batch.at("index")[1].item<int64_t>(), 35);
}

TEST(Dataset, HoldsTheRowsOfTheChosenEpisodesAlone) {
  DatasetOptions options;
  options.episodes = {2, 0};
  options.delta_indices = {{"action", {-1, 0, 1}}};
  const LeRobotDataset dataset = open(ToyDataset({5, 3, 4}), options);
  ASSERT_EQ(dataset.num_frames(), 9);
  const Batch batch = dataset.get(all_rows(dataset));
  const torch::Tensor index = torch::tensor({0, 1, 2, 3, 4, 8, 9, 10, 11}, torch::kInt64);
  EXPECT_TRUE(batch.at("index").equal(index));
  EXPECT_TRUE(batch.at("action").select(1, 1).select(1, 0).equal(index.to(torch::kFloat32) * 10));
  // The window of episode 2's first frame does not reach into episode 0, which lies before it in memory.
  EXPECT_THAT(floats(batch.at("action")[5].select(1, 0)), ElementsAre(80, 80, 90));
}

TEST(Dataset, ReadsRowGroupsAndFilesOfAnyLayout) {
  const Rows rows{0, 5, 7, 11};
  std::vector<torch::Tensor> states;
  for (const auto& [files, per_group] : std::vector<std::pair<Rows, int64_t>>{{{}, 4}, {{}, 100}, {{2, 7, 3}, 1}}) {
    ToyDataset toy;
    toy.data_files = files;
    toy.rows_per_group = per_group;
    states.push_back(open(toy).get(rows).at("observation.state"));
  }
  EXPECT_THAT(floats(states[0]), ElementsAre(0, 0, 5, -5, 7, -7, 11, -11));
  EXPECT_TRUE(states[1].equal(states[0]));
  EXPECT_TRUE(states[2].equal(states[0]));
}

TEST(Dataset, FindsFramesByTheirIndexWhenFilesAreInAnotherOrder) {
  ToyDataset toy({3, 3});
  toy.data_files = {3, 3};
  const Metadata metadata = toy.load();
  const auto chunk = toy.root() / "data/chunk-000";
  std::filesystem::rename(chunk / "file-000.parquet", chunk / "file-999.parquet");
  EXPECT_TRUE(open(metadata).get(Rows{0, 3}).at("index").equal(torch::tensor({0, 3}, torch::kInt64)));
}

TEST(Dataset, ConvertsEveryNumericTypeAsLeRobot) {
  ToyDataset toy({2, 1});
  const auto add = [&](const char* name, const char* dtype, const Json& shape,
                       const std::shared_ptr<arrow::DataType>& type,
                       const Json& rows) { toy.add_feature(name, dtype, shape, arrow_column(type, rows)); };
  const Json one = Json::array({1});
  add("half", "float16", one, arrow::float16(), {0x3c00, 0xc100, 0x7bff});  // 1, -2.5, 65504
  add("double", "float64", one, arrow::float64(), {0.1, -1e300, 2});
  add("small", "int8", one, arrow::int8(), {-128, 0, 127});
  add("byte", "uint8", one, arrow::uint8(), {0, 200, 255});
  add("word", "uint32", one, arrow::uint32(), {4294967295, 0, 1});
  add("flag", "bool", one, arrow::boolean(), {true, false, true});
  add("widened", "float64", one, arrow::float32(), {0.5, 1.5, 2.5});
  add("whole", "int64", one, arrow::float64(), {1.0, -2.0, 3.0});
  add("grid", "float32", {2, 3}, arrow::list(arrow::list(arrow::float32())),
      {{{0, 1, 2}, {3, 4, 5}}, {{6, 7, 8}, {9, 10, 11}}, {{12, 13, 14}, {15, 16, 17}}});
  add("cell", "int64", {1, 1}, arrow::list(arrow::list(arrow::int64())), Json::parse("[[[7]], [[8]], [[9]]]"));
  const LeRobotDataset dataset = open(toy);
  const Batch batch = dataset.get(all_rows(dataset));
  EXPECT_THAT(floats(batch.at("half")), ElementsAre(1, -2.5, 65504));
  EXPECT_THAT(floats(batch.at("double")), ElementsAre(0.1F, -std::numeric_limits<float>::infinity(), 2));
  EXPECT_TRUE(batch.at("small").equal(torch::tensor({-128, 0, 127}, torch::kInt64)));
  EXPECT_TRUE(batch.at("byte").equal(torch::tensor({0, 200, 255}, torch::kInt64)));
  EXPECT_TRUE(batch.at("word").equal(torch::tensor({4294967295, int64_t{0}, int64_t{1}}, torch::kInt64)));
  EXPECT_TRUE(batch.at("flag").equal(torch::tensor({true, false, true})));
  EXPECT_THAT(floats(batch.at("widened")), ElementsAre(0.5, 1.5, 2.5));
  EXPECT_TRUE(batch.at("whole").equal(torch::tensor({1, -2, 3}, torch::kInt64)));
  EXPECT_TRUE(batch.at("grid").equal(torch::arange(18, torch::kFloat32).reshape({3, 2, 3})));
  EXPECT_TRUE(batch.at("cell").equal(torch::tensor({7, 8, 9}, torch::kInt64).reshape({3, 1, 1})));
}

TEST(Dataset, LoadsTheWantedFeaturesAndTheStandardColumnsAlone) {
  DatasetOptions options;
  options.features = {"action"};
  const LeRobotDataset dataset = open_sample_b(options);
  std::vector<std::string> keys;
  for (const auto& [key, tensor] : dataset.get(Rows{0}).tensors) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("action", "episode_index", "frame_index", "index", "task_index", "timestamp"));
  EXPECT_EQ(dataset.column_bytes(), 90 * (6 * 4 + 4 * 8 + 4));
}

TEST(Dataset, LeavesStringsOutOfBatches) {
  ToyDataset toy({2});
  toy.add_feature("note", "string", Json::array({1}), arrow_column(arrow::utf8(), {"a", "b"}));
  EXPECT_FALSE(open(toy).get(Rows{0}).contains("note"));
}

TEST(Dataset, RefusesAFeatureThatIsNotThere) {
  DatasetOptions options;
  options.features = {"observation.stat"};
  EXPECT_THAT(refusal(ToyDataset(), options), AllOf(HasSubstr("`observation.stat`"), HasSubstr("observation.state`?")));
}

// --- broken datasets ---

TEST(BrokenDataset, TruncatedParquetIsNamed) {
  ToyDataset toy;
  toy.data_files = {6, 6};
  const Metadata metadata = toy.load();
  const auto file = toy.root() / "data/chunk-000/file-001.parquet";
  for (const int64_t bytes : {3L, 100L, static_cast<long>(std::filesystem::file_size(file)) - 1}) {
    std::filesystem::resize_file(file, bytes);
    EXPECT_THAT([&] { open(metadata); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr(file.string()), HasSubstr("cut short"))))
        << bytes;
    toy.write();
  }
}

TEST(BrokenDataset, DamagedColumnDataIsNamed) {
  const ToyDataset toy;
  const Metadata metadata = toy.load();
  const auto file = toy.root() / "data/chunk-000/file-000.parquet";
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(8);
  bytes << std::string(60, '\xff');
  bytes.close();
  EXPECT_THAT([&] { open(metadata); }, ThrowsMessage<UsageError>(HasSubstr(file.string())));
}

TEST(BrokenDataset, ColumnsOfAnotherShapeAreNamed) {
  const auto vectors = arrow::list(arrow::float32());
  ToyDataset short_row({2}), long_row({2}), scalar({2}), deep({2});
  short_row.data.set("action", arrow_column(vectors, {{1, 2}, Json::array({3})}));
  long_row.data.set("action", arrow_column(vectors, {{1, 2, 3}, {4, 5}}));
  scalar.data.set("action", arrow_column(arrow::float32(), {1, 2}));
  deep.data.set("action", arrow_column(arrow::list(vectors), {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}));
  EXPECT_THAT(refusal(short_row), AllOf(HasSubstr("file-000.parquet: column `action`"), HasSubstr("[2] in row 1")));
  EXPECT_THAT(refusal(long_row), HasSubstr("[2] in row 0"));
  EXPECT_THAT(refusal(scalar), AllOf(HasSubstr("`action`"), HasSubstr("0 list level(s)")));
  EXPECT_THAT(refusal(deep), AllOf(HasSubstr("`action`"), HasSubstr("2 list level(s)")));
}

TEST(BrokenDataset, ListsThatAreGroupedOtherwiseThanDeclaredAreNamed) {
  ToyDataset toy({1});
  toy.add_feature("grid", "float32", {2, 3},
                  arrow_column(arrow::list(arrow::list(arrow::float32())), Json::parse("[[[0, 1], [2, 3], [4, 5]]]")));
  EXPECT_THAT(refusal(toy), AllOf(HasSubstr("`grid`"), HasSubstr("declared shape [2, 3]")));
}

TEST(BrokenDataset, NullsAreNamed) {
  const auto vectors = arrow::list(arrow::float32());
  ToyDataset value({2}), row({2}), empty({2});
  value.data.set("action", arrow_column(vectors, {{1, 2}, {3, nullptr}}));
  row.data.set("action", arrow_column(vectors, {{1, 2}, nullptr}));
  empty.data.set("action", arrow_column(vectors, {{1, 2}, Json::array()}));
  for (const ToyDataset* toy : {&value, &row, &empty})
    EXPECT_THAT(refusal(*toy), AllOf(HasSubstr("`action`"), HasSubstr("null in row 1")));
}

TEST(BrokenDataset, ColumnsThatAreNoNumbersAreNamed) {
  ToyDataset text({2}), fraction({2}), flag({2}), huge({2});
  text.add_feature("odd", "float32", Json::array({1}), arrow_column(arrow::utf8(), {"1", "2"}));
  fraction.add_feature("odd", "int64", Json::array({1}), arrow_column(arrow::float32(), {1, 2.5}));
  flag.add_feature("odd", "bool", Json::array({1}), arrow_column(arrow::int64(), {1, 2}));
  huge.add_feature("odd", "uint64", Json::array({1}), arrow_column(arrow::uint64(), {1, 18446744073709551615U}));
  EXPECT_THAT(refusal(text), AllOf(HasSubstr("`odd`"), HasSubstr("String")));
  EXPECT_THAT(refusal(fraction), AllOf(HasSubstr("`odd`"), HasSubstr("2.5"), HasSubstr("int64")));
  EXPECT_THAT(refusal(flag), AllOf(HasSubstr("`odd`"), HasSubstr("no bool")));
  EXPECT_THAT(refusal(huge), HasSubstr("18446744073709551615"));
}

TEST(BrokenDataset, ColumnsMissingFromOrAddedToAFileAreNamed) {
  ToyDataset missing({2}), added({2});
  missing.info["features"]["observation.effort"] = missing.info["features"]["action"];
  added.data.set("extra", arrow_column(arrow::float32(), {1, 2}));
  EXPECT_THAT(refusal(missing),
              AllOf(HasSubstr("file-000.parquet"), HasSubstr("`observation.effort`"), HasSubstr("missing")));
  EXPECT_THAT(refusal(added), AllOf(HasSubstr("file-000.parquet"), HasSubstr("`extra`")));
}

TEST(BrokenDataset, AnIndexOutOfPlaceIsNamed) {
  ToyDataset gap({3}), twice({3});
  gap.data.set("index", arrow_column(arrow::int64(), {0, 1, 3}));
  twice.data.set("index", arrow_column(arrow::int64(), {0, 1, 1}));
  EXPECT_THAT(refusal(gap), AllOf(HasSubstr("row 2 has index 3"), HasSubstr("owns 0 to 3")));
  EXPECT_THAT(refusal(twice), HasSubstr("row 2 has index 1, which another row has"));
}

TEST(BrokenDataset, AnIndexFarOutOfPlaceIsNamed) {
  ToyDataset toy({3});
  toy.data.set("index", arrow_column(arrow::int64(), {0, 1, std::numeric_limits<int64_t>::min()}));
  EXPECT_THAT(refusal(toy), HasSubstr("row 2 has index -9223372036854775808, outside its episode"));
}

TEST(BrokenDataset, FramesAreCountedBeforeMemoryIsTakenForThem) {
  constexpr int64_t kLength = int64_t{1} << 35;  // 32 GiB for one bool a frame
  ToyDataset toy({3});
  toy.episodes.set("length", arrow_column(arrow::int64(), Json::array({kLength})));
  toy.episodes.set("dataset_to_index", arrow_column(arrow::int64(), Json::array({kLength})));
  EXPECT_THAT(refusal(toy), HasSubstr("34359738365 of the 34359738368 frames of episode 0 are missing"));
}

TEST(BrokenDataset, FramesThatAreNotThereAreCounted) {
  ToyDataset toy({5, 3, 4});
  toy.data_files = {6, 6};
  const Metadata metadata = toy.load();
  std::filesystem::remove(toy.root() / "data/chunk-000/file-001.parquet");
  EXPECT_THAT([&] { open(metadata); },
              ThrowsMessage<UsageError>(HasSubstr("2 of the 3 frames of episode 1 are missing")));
  EXPECT_EQ(open(metadata, {.episodes = {0}}).num_frames(), 5);
}

TEST(BrokenDataset, WithoutAnyDataSaysSo) {
  const ToyDataset toy;
  const Metadata metadata = toy.load();
  std::filesystem::remove_all(toy.root() / "data");
  EXPECT_THAT([&] { open(metadata); }, ThrowsMessage<UsageError>(HasSubstr((toy.root() / "data").string())));
}

TEST(BrokenDataset, RowsOfUnlistedEpisodesAreWarnedAbout) {
  ToyDataset toy({3, 2});
  toy.data.set("episode_index", arrow_column(arrow::int64(), {0, 0, 0, 7, 7}));
  const CapturedLog log;
  EXPECT_EQ(open(toy, {.episodes = {0}}).num_frames(), 3);
  EXPECT_THAT(log.text(), HasSubstr("2 rows"));
}

TEST(BrokenDataset, ATaskIndexWithoutASentenceIsNamed) {
  ToyDataset toy({2});
  toy.data.set("task_index", arrow_column(arrow::int64(), {0, 5}));
  EXPECT_THAT(refusal(toy), HasSubstr("frame 1 of the dataset has task_index 5"));
}

class CopiedSampleB : public testing::Test {
 protected:
  CopiedSampleB() {
    std::filesystem::copy(kDatasets / "sample_dataset_b", root, std::filesystem::copy_options::recursive);
  }
  Metadata load() const { return load_metadata(root, "sample/b"); }

  testing_support::TemporaryDirectory directory;
  const std::filesystem::path root = directory.path() / "copy";
  const std::filesystem::path video = root / "videos/observation.images.cam/chunk-000/file-000.mp4";
};

TEST_F(CopiedSampleB, NeedsTheVideosOfTheChosenEpisodes) {
  std::filesystem::remove(video);
  EXPECT_THAT([&] { open(load()); }, ThrowsMessage<UsageError>(AllOf(HasSubstr(video.string()), HasSubstr("episode 0"),
                                                                     HasSubstr("missing"))));
}

TEST_F(CopiedSampleB, NeedsNoVideosOfFeaturesThatAreNotWanted) {
  std::filesystem::remove(video);
  EXPECT_EQ(open(load(), {.features = std::vector<std::string>{"action"}}).num_frames(), 90);
}

TEST_F(CopiedSampleB, NamesTheVideoThatIsNone) {
  std::ofstream(video) << "not a video";
  const LeRobotDataset dataset = open(load());
  EXPECT_THAT([&] { dataset.get(Rows{0}); }, ThrowsMessage<Error>(HasSubstr(video.string())));
}

TEST_F(CopiedSampleB, RefusesDepthVideosByName) {
  Metadata metadata = load();
  for (FeatureSpec& feature : metadata.info.features) feature.is_depth = feature.name == "observation.images.cam";
  EXPECT_THAT([&] { open(metadata); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("`observation.images.cam`"), HasSubstr("depth video"))));
}

// A few PNG files of sample_dataset_b's wrist camera.
std::vector<std::string> png_files() {
  std::vector<std::string> files;
  ParquetFile(kDatasets / "sample_dataset_b/data/chunk-000/file-000.parquet")
      .read_bytes("observation.images.wrist", "bytes", 0, [&](std::optional<std::span<const std::byte>> bytes) {
        files.emplace_back(reinterpret_cast<const char*>(bytes->data()), bytes->size());
      });
  return files;
}

void add_camera(ToyDataset& toy, testing_support::ArrowColumn rows, const Json& shape = {96, 96, 3}) {
  toy.add_feature("wrist", "image", shape, std::move(rows));
  toy.info["features"]["wrist"]["names"] = {"height", "width", "channels"};
}

TEST(ImageColumn, OpensTheFileWhereOnlyAPathIsStored) {
  const auto png = png_files();
  ToyDataset toy({2});
  const std::string path = toy.root() / "frame.png";
  std::ofstream(path, std::ios::binary) << png[1];
  add_camera(toy, testing_support::image_column({png[0], std::nullopt}, {"frame-000000.png", path}));
  const Batch batch = open(toy).get(Rows{0, 1});
  const Batch expected =
      open_sample_b({.features = std::vector<std::string>{"observation.images.wrist"}}).get(Rows{0, 1});
  EXPECT_TRUE(batch.at("wrist").equal(expected.at("observation.images.wrist")));
}

TEST(ImageColumn, NamesTheRowWithoutAReadableImage) {
  const auto png = png_files();
  ToyDataset toy({4});
  add_camera(toy, testing_support::image_column({png[0], std::nullopt, std::nullopt, "junk"},
                                                {"", "absent.png", std::nullopt, ""}));
  const LeRobotDataset dataset = open(toy);
  EXPECT_THAT([&] { dataset.get(Rows{1}); },
              ThrowsMessage<RunError>(AllOf(HasSubstr("row group 0, row 1"), HasSubstr("absent.png"))));
  EXPECT_THAT([&] { dataset.get(Rows{2}); }, ThrowsMessage<RunError>(HasSubstr("no image")));
  EXPECT_THAT([&] { dataset.get(Rows{3}); },
              ThrowsMessage<RunError>(AllOf(HasSubstr("row group 0, row 3"), HasSubstr("`wrist`"))));
}

TEST(ImageColumn, NamesAnImageOfAnotherSizeThanDeclared) {
  ToyDataset toy({1});
  add_camera(toy, testing_support::image_column({png_files()[0]}, {""}), {48, 96, 3});
  EXPECT_THAT([&] { open(toy).get(Rows{0}); },
              ThrowsMessage<RunError>(AllOf(HasSubstr("3x96x96"), HasSubstr("3x48x96"))));
}

TEST(ImageColumn, WarnsWhenTheCacheIsSmallerThanTheImages) {
  ToyDataset toy({2});
  add_camera(toy, testing_support::image_column({png_files()[0], png_files()[1]}, {"", ""}));
  const CapturedLog log;
  open(toy);
  EXPECT_THAT(log.text(), IsEmpty());
  open(toy, {.image_cache_bytes = 100});
  EXPECT_THAT(log.text(), HasSubstr("kept in memory"));
}

}  // namespace
}  // namespace lerobot::dataset
