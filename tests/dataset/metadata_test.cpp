#include "lerobot/dataset/metadata.hpp"

#include <arrow/api.h>
#include <gmock/gmock.h>

#include <cstdint>
#include <fstream>
#include <limits>

#include "dataset/captured_log.hpp"
#include "dataset/toy_dataset.hpp"
#include "lerobot/core/error.hpp"

namespace lerobot::dataset {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::ThrowsMessage;
using testing_support::arrow_column;
using testing_support::CapturedLog;
using testing_support::ToyDataset;

const std::filesystem::path kDatasets = std::filesystem::path(LEROBOT_TEST_DATA) / "datasets";

std::string refusal(const ToyDataset& toy) {
  try {
    toy.load();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

void add_video(ToyDataset& toy, const Json& from, const Json& to) {
  toy.info["features"]["top"] = {
      {"dtype", "video"}, {"shape", {48, 64, 3}}, {"names", {"height", "width", "channels"}}};
  toy.info["video_path"] = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4";
  toy.episodes.set("videos/top/chunk_index", arrow_column(arrow::int64(), {0, 0, 0}));
  toy.episodes.set("videos/top/file_index", arrow_column(arrow::int64(), {0, 0, 1}));
  toy.episodes.set("videos/top/from_timestamp", arrow_column(arrow::float64(), from));
  toy.episodes.set("videos/top/to_timestamp", arrow_column(arrow::float64(), to));
}

TEST(Metadata, ReadsTheTablesThatLeRobotWrote) {
  const CapturedLog log;
  const Metadata metadata = load_metadata(kDatasets / "sample_dataset_b", "sample/b");
  EXPECT_THAT(log.text(), IsEmpty());
  ASSERT_EQ(metadata.episodes.size(), 3);
  const Episode& episode = metadata.episodes[1];
  EXPECT_EQ(episode.length, 30);
  EXPECT_EQ(episode.dataset_from_index, 30);
  EXPECT_EQ(episode.dataset_to_index, 60);
  EXPECT_THAT(episode.tasks, ElementsAre("place the cube"));
  EXPECT_DOUBLE_EQ(episode.videos.at("observation.images.cam").from_timestamp, 1.0);
  EXPECT_EQ(metadata.video_file(episode, "observation.images.cam"),
            kDatasets / "sample_dataset_b/videos/observation.images.cam/chunk-000/file-000.mp4");
  EXPECT_THAT(metadata.tasks, ElementsAre(Pair(0, "pick the cube"), Pair(1, "place the cube")));
}

TEST(Metadata, ReadsStatisticsInTheShapesOfTheFile) {
  const Metadata metadata = load_metadata(kDatasets / "sample_dataset_b", "sample/b");
  const FeatureStats& stats = required_stats(metadata);
  EXPECT_EQ(stats.at("observation.state").at("mean").sizes(), torch::IntArrayRef({6}));
  EXPECT_EQ(stats.at("observation.images.cam").at("std").sizes(), torch::IntArrayRef({3, 1, 1}));
  EXPECT_EQ(stats.at("timestamp").at("q99").sizes(), torch::IntArrayRef({1}));
  EXPECT_EQ(stats.at("index").at("max").item<float>(), 89);
  EXPECT_EQ(stats.at("index").at("max").scalar_type(), torch::kFloat32);
}

TEST(Metadata, FindsTheSentencesInThePandasIndexColumn) {
  ToyDataset toy;
  toy.tasks.clear();
  toy.tasks.set("comment", arrow_column(arrow::utf8(), {"a", "b"}));
  toy.tasks.set("task_index", arrow_column(arrow::int64(), {0, 1}));
  toy.tasks.set("__index_level_0__", arrow_column(arrow::utf8(), {"push", "pull"}));
  toy.tasks_pandas = R"({"index_columns": ["__index_level_0__"]})";
  EXPECT_THAT(toy.load().tasks, ElementsAre(Pair(0, "push"), Pair(1, "pull")));
}

TEST(Metadata, FindsTheSentencesInTheFirstTextColumnWithoutAPandasIndex) {
  ToyDataset toy;
  toy.tasks_pandas = R"({"index_columns": [{"kind": "range", "start": 0, "stop": 2, "step": 1}]})";
  EXPECT_THAT(toy.load().tasks, ElementsAre(Pair(0, "push"), Pair(1, "pull")));
}

TEST(Metadata, MapsTasksByTheirIndexAndWarnsWhenRowsAreInAnotherOrder) {
  ToyDataset toy;
  toy.tasks.set("task_index", arrow_column(arrow::int64(), {1, 0}));
  const CapturedLog log;
  EXPECT_THAT(toy.load().tasks, ElementsAre(Pair(0, "pull"), Pair(1, "push")));
  EXPECT_THAT(log.text(), HasSubstr("not in task_index order"));
}

TEST(Metadata, RefusesAnEpisodeTableThatContradictsItself) {
  ToyDataset shuffled;
  shuffled.episodes.set("episode_index", arrow_column(arrow::int64(), {0, 2, 1}));
  EXPECT_THAT(refusal(shuffled), AllOf(HasSubstr("meta/episodes/chunk-000/file-000.parquet"), HasSubstr("episode 2")));
  ToyDataset wrong_length;
  wrong_length.episodes.set("length", arrow_column(arrow::int64(), {5, 4, 4}));
  EXPECT_THAT(refusal(wrong_length), HasSubstr("episode 1 has length 4, but its frames are 5 to 8"));
  ToyDataset unfinished;
  unfinished.episodes.set("data/chunk_index", arrow_column(arrow::int64(), {0, 0, nullptr}));
  EXPECT_THAT(refusal(unfinished), AllOf(HasSubstr("data/chunk_index"), HasSubstr("null")));
}

TEST(Metadata, RefusesFrameRangesWhoseLengthOverflows) {
  constexpr auto kSmallest = std::numeric_limits<int64_t>::min();
  ToyDataset backwards, huge;
  backwards.episodes.set("dataset_to_index", arrow_column(arrow::int64(), {5, kSmallest, 12}));
  huge.episodes.set("length", arrow_column(arrow::int64(), {int64_t{1} << 62, 3, 4}));
  huge.episodes.set("dataset_to_index", arrow_column(arrow::int64(), {int64_t{1} << 62, 8, 12}));
  EXPECT_THAT(refusal(backwards), HasSubstr("episode 1 has length 3, but its frames are 5 to -9223372036854775808"));
  EXPECT_THAT(refusal(huge), HasSubstr("episode 0 has length 4611686018427387904"));
}

TEST(Metadata, RefusesVideoSegmentsThatAreNoTimes) {
  ToyDataset toy;
  add_video(toy, {0, 0.5, 0.8}, {0.5, 0.8, 1.2});
  toy.episodes.set("videos/top/to_timestamp",
                   arrow_column(arrow::float64(), {0.5, std::numeric_limits<double>::infinity(), 1.2}));
  EXPECT_THAT(refusal(toy), HasSubstr("episode 1 of camera `top` lasts from 0.5 to inf seconds"));
}

TEST(Metadata, TakesAPandasDescriptionThatIsNoObjectForNone) {
  ToyDataset toy;
  toy.tasks_pandas = "[1]";
  EXPECT_THAT(toy.load().tasks, ElementsAre(Pair(0, "push"), Pair(1, "pull")));
}

TEST(Metadata, RefusesStatisticsThatAreNoObject) {
  ToyDataset toy;
  toy.stats = Json::array({1});
  EXPECT_THAT(refusal(toy), HasSubstr("stats.json: must hold an object"));
}

TEST(Metadata, NamesTheMissingColumnsOfAVideoFeature) {
  ToyDataset toy;
  toy.info["features"]["top"] = {
      {"dtype", "video"}, {"shape", {48, 64, 3}}, {"names", {"height", "width", "channels"}}};
  EXPECT_THAT(refusal(toy), HasSubstr("`videos/top/chunk_index` is missing"));
}

TEST(Metadata, NamesFilesThatAreMissingOrCutShort) {
  ToyDataset toy;
  toy.write();
  const auto tasks = toy.root() / "meta/tasks.parquet";
  const auto load = [&] { load_metadata(toy.root(), "ann/pick"); };
  std::filesystem::resize_file(tasks, std::filesystem::file_size(tasks) - 10);
  EXPECT_THAT(load, ThrowsMessage<UsageError>(AllOf(HasSubstr(tasks.string()), HasSubstr("cut short"))));
  std::filesystem::remove(tasks);
  EXPECT_THAT(load, ThrowsMessage<UsageError>(HasSubstr(tasks.string() + ": is missing")));
  std::filesystem::remove_all(toy.root() / "meta/episodes");
  EXPECT_THAT(load, ThrowsMessage<UsageError>(HasSubstr("meta/episodes")));
}

TEST(Metadata, WarnsAboutTotalsThatDisagreeWithTheTables) {
  ToyDataset toy;
  toy.info["total_frames"] = 13;
  const CapturedLog log;
  toy.load();
  EXPECT_THAT(log.text(), HasSubstr("total_frames is 13, but meta/episodes holds 12"));
}

TEST(Metadata, WarnsAboutVideosOfAnotherLengthThanTheirRows) {
  ToyDataset good, short_video, third_party;
  add_video(good, {0, 0.5, 0}, {0.5, 0.8, 0.4});
  add_video(short_video, {0, 0.5, 0}, {0.5, 0.7, 0.4});
  add_video(third_party, {0, 0.5, 0}, {0.4, 0.7, 0.3});  // the last frame's time instead of the end
  const CapturedLog log;
  good.load();
  third_party.load();
  EXPECT_THAT(log.text(), IsEmpty());
  short_video.load();
  EXPECT_THAT(log.text(), AllOf(HasSubstr("`top`"), HasSubstr("1 episode(s), the first is episode 1")));
}

TEST(Stats, MissingOnesSayHowToComputeThem) {
  ToyDataset toy;
  toy.stats.reset();
  const Metadata metadata = toy.load();
  EXPECT_FALSE(metadata.stats);
  EXPECT_THAT([&] { required_stats(metadata); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("recompute_stats"), HasSubstr("use_imagenet_stats"))));
}

TEST(Stats, ThatAreNoNumbersAreRefused) {
  ToyDataset toy;
  toy.stats = Json::parse(R"({"action": {"mean": [[1.0, 2.0], [1.0]]}})");
  EXPECT_THAT(refusal(toy), AllOf(HasSubstr("stats.json"), HasSubstr("`mean` of `action`")));
}

TEST(Stats, ImagenetReplacesMeanAndStdOfColourCamerasAlone) {
  ToyDataset toy;
  add_video(toy, {0, 0.5, 0}, {0.5, 0.8, 0.4});
  toy.info["features"]["depth"] = toy.info["features"]["top"];
  toy.info["features"]["depth"]["dtype"] = "image";
  toy.info["features"]["depth"]["info"] = {{"is_depth_map", true}};
  toy.write();
  const DatasetInfo info = load_dataset_info(toy.root(), "ann/pick");
  FeatureStats stats;
  stats["top"]["min"] = torch::full({3, 1, 1}, 0.25F);
  stats["depth"]["mean"] = torch::full({1, 1, 1}, 700.0F);
  apply_imagenet_stats(stats, info);
  EXPECT_TRUE(stats["top"]["mean"].equal(torch::tensor({0.485F, 0.456F, 0.406F}).reshape({3, 1, 1})));
  EXPECT_TRUE(stats["top"]["std"].equal(torch::tensor({0.229F, 0.224F, 0.225F}).reshape({3, 1, 1})));
  EXPECT_EQ(stats["top"]["min"].max().item<float>(), 0.25F);
  EXPECT_EQ(stats["depth"]["mean"].item<float>(), 700.0F);
  EXPECT_EQ(stats.size(), 2);
}

TEST(Stats, CameraDeviationsThatCannotBeThoseOfPicturesAreWarnedAbout) {
  ToyDataset toy;
  add_video(toy, {0, 0.5, 0}, {0.5, 0.8, 0.4});
  toy.write();
  const DatasetInfo info = load_dataset_info(toy.root(), "ann/pick");
  FeatureStats stats;
  const CapturedLog log;
  stats["top"]["std"] = torch::full({3, 1, 1}, 0.2F);
  warn_about_camera_stats(stats, info);
  EXPECT_THAT(log.text(), IsEmpty());
  stats["top"]["std"] = torch::full({3, 1, 1}, 0.005F);
  warn_about_camera_stats(stats, info);
  EXPECT_THAT(log.text(), AllOf(HasSubstr("`top`"), HasSubstr("0.005")));
}

TEST(Stats, OfDepthMapsAreConvertedToTheUnitThatFramesAreReadIn) {
  ToyDataset toy;
  toy.info["features"]["depth"] = {{"dtype", "image"},
                                   {"shape", {4, 4, 1}},
                                   {"names", {"height", "width", "channels"}},
                                   {"info", {{"is_depth_map", true}, {"depth_unit", "m"}}}};
  toy.stats = Json::parse(R"({"depth": {"mean": [[[0.75]]], "count": [100]}})");
  const Metadata metadata = toy.load();
  EXPECT_EQ(metadata.stats->at("depth").at("mean").item<float>(), 750.0F);
  EXPECT_EQ(metadata.stats->at("depth").at("count").item<float>(), 100.0F);
  const Metadata in_metres = load_metadata(toy.root(), "toy/set", "m");
  EXPECT_EQ(in_metres.stats->at("depth").at("mean").item<float>(), 0.75F);
}

TEST(Episodes, AreAllChosenWithoutAList) {
  EXPECT_THAT(choose_episodes(ToyDataset().load(), {}), ElementsAre(0, 1, 2));
}

TEST(Episodes, KeepTheOrderAskedForAndLeaveOutTheExcluded) {
  EXPECT_THAT(choose_episodes(ToyDataset().load(), std::vector<int64_t>{2, 0, 1}, {0}), ElementsAre(2, 1));
}

TEST(Episodes, OutsideTheDatasetAreDroppedWithAWarning) {
  const CapturedLog log;
  EXPECT_THAT(choose_episodes(ToyDataset().load(), std::vector<int64_t>{1, 7, 3}), ElementsAre(1));
  EXPECT_THAT(log.text(), HasSubstr("ignoring 7, 3, outside the dataset's range [0, 3)"));
}

TEST(Episodes, ThatAreNegativeOrRepeatedOrNoneAreRefused) {
  const Metadata metadata = ToyDataset().load();
  const auto choosing = [&](std::vector<int64_t> episodes, std::vector<int64_t> excluded = {}) {
    return [&metadata, episodes, excluded] { choose_episodes(metadata, episodes, excluded); };
  };
  EXPECT_THAT(choosing({0, -1}), ThrowsMessage<UsageError>(HasSubstr("--dataset.episodes holds -1")));
  EXPECT_THAT(choosing({2, 0, 2}), ThrowsMessage<UsageError>(HasSubstr("holds 2 more than once")));
  EXPECT_THAT(choosing({8}), ThrowsMessage<UsageError>(HasSubstr("No episode is left")));
  EXPECT_THAT(choosing({1}, {1}), ThrowsMessage<UsageError>(HasSubstr("No episode is left")));
}

// LeRobot 0.6.1: eval_split 0.5 of 3 episodes with tasks push, pull, push holds out 1 of each task.
TEST(EvalSplit, HoldsOutTheLastEpisodesOfEachTask) {
  const Metadata metadata = ToyDataset({2, 2, 2, 2, 2, 2}).load();  // push: 0 2 4, pull: 1 3 5
  const EpisodeSplit split = split_episodes(metadata, {0, 1, 2, 3, 4, 5}, 0.4);
  EXPECT_THAT(split.train, ElementsAre(0, 1));
  EXPECT_THAT(split.eval, ElementsAre(2, 4, 3, 5));
  EXPECT_THAT(
      [&] {
        split_episodes(metadata, {0, 1}, 0.1);
      },
      ThrowsMessage<UsageError>(HasSubstr("leaves 0 of 2 episodes")));
}

}  // namespace
}  // namespace lerobot::dataset
