#include "lerobot/dataset/dataset_info.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <limits>
#include <string>

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
using testing_support::CapturedLog;
using testing_support::ToyDataset;

const std::filesystem::path kDatasets = std::filesystem::path(LEROBOT_TEST_DATA) / "datasets";

// What reading a toy dataset's info.json with these changes throws; empty: nothing.
std::string refusal(const std::function<void(Json& info)>& change) {
  ToyDataset toy;
  change(toy.info);
  toy.write();
  try {
    load_dataset_info(toy.root(), "ann/pick");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(DatasetInfo, ReadsWhatLeRobotWrote) {
  const DatasetInfo info = load_dataset_info(kDatasets / "sample_dataset_b", "sample/b");
  EXPECT_EQ(info.fps, 30);
  EXPECT_EQ(info.total_episodes, 3);
  EXPECT_EQ(info.total_frames, 90);
  EXPECT_EQ(info.total_tasks, 2);
  EXPECT_EQ(info.robot_type, "toy");
  ASSERT_EQ(info.features.size(), 9);
  EXPECT_EQ(info.features[2].name, "observation.images.cam");
  EXPECT_TRUE(info.features[2].is_video());
  EXPECT_THAT(info.features[2].camera_shape(), ElementsAre(3, 96, 96));
  EXPECT_TRUE(info.find("observation.images.wrist")->is_image());
  EXPECT_EQ(info.find("no.such"), nullptr);
}

TEST(DatasetInfo, FillsInDefaultsForAbsentKeys) {
  ToyDataset toy;
  for (const char* key : {"total_episodes", "total_frames", "total_tasks", "video_path"}) toy.info.erase(key);
  toy.write();
  const DatasetInfo info = load_dataset_info(toy.root(), "ann/pick");
  EXPECT_EQ(info.chunks_size, 1000);
  EXPECT_EQ(info.data_path, "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet");
  EXPECT_EQ(info.video_path, "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4");
  EXPECT_EQ(info.robot_type, std::nullopt);
}

TEST(DatasetInfo, WarnsAboutUnknownKeysAndNewerMinorVersions) {
  ToyDataset toy;
  toy.info["total_videos"] = 3;
  toy.info["codebase_version"] = "v3.1";
  toy.write();
  const CapturedLog log;
  load_dataset_info(toy.root(), "ann/pick");
  EXPECT_THAT(log.text(), AllOf(HasSubstr("total_videos"), HasSubstr("v3.1 is newer")));
}

TEST(DatasetInfo, NamesTheConverterForV21) {
  EXPECT_THAT(
      refusal([](Json& info) { info["codebase_version"] = "v2.1"; }),
      AllOf(HasSubstr("v2.1"), HasSubstr("python -m lerobot.scripts.convert_dataset_v21_to_v30 --repo-id=ann/pick")));
}

TEST(DatasetInfo, RefusesOtherMajorVersions) {
  EXPECT_THAT(refusal([](Json& info) { info["codebase_version"] = "v2.0"; }), HasSubstr("v2.0"));
  EXPECT_THAT(refusal([](Json& info) { info["codebase_version"] = "v1.6"; }), HasSubstr("v1.6"));
  EXPECT_THAT(refusal([](Json& info) { info["codebase_version"] = "v4.0"; }), HasSubstr("newer than this"));
  EXPECT_THAT(refusal([](Json& info) { info["codebase_version"] = "latest"; }), HasSubstr("latest"));
  EXPECT_THAT(refusal([](Json& info) { info["codebase_version"] = "v" + std::string(40, '9'); }),
              HasSubstr("newer than this"));
}

TEST(DatasetInfo, RefusesNumbersThatCannotBe) {
  EXPECT_THAT(refusal([](Json& info) { info["fps"] = 0; }), HasSubstr("fps must be positive, got 0"));
  EXPECT_THAT(refusal([](Json& info) { info["fps"] = std::numeric_limits<double>::infinity(); }),
              HasSubstr("fps must be positive"));
  EXPECT_THAT(refusal([](Json& info) { info["chunks_size"] = -1; }), HasSubstr("chunks_size"));
  EXPECT_THAT(refusal([](Json& info) { info["fps"] = 29.97; }), IsEmpty());
}

TEST(DatasetInfo, RefusesFeaturesThatCannotBe) {
  const auto with = [](Json feature) { return refusal([&](Json& info) { info["features"]["odd"] = feature; }); };
  EXPECT_THAT(with({{"dtype", "complex64"}, {"shape", Json::array({1})}}), HasSubstr("complex64"));
  EXPECT_THAT(with({{"dtype", "float32"}, {"shape", Json::array({0})}}), HasSubstr("[0]"));
  EXPECT_THAT(with({{"dtype", "video"}, {"shape", Json::array({96, 96})}}), HasSubstr("3 sizes"));
  EXPECT_THAT(with({{"dtype", "float32"}, {"shape", {1000000, 1000000, 1000000, 1000000}}}),
              HasSubstr("values a frame"));
  EXPECT_THAT(with({{"shape", Json::array({1})}}), HasSubstr("dtype"));
  EXPECT_THAT(refusal([](Json& info) { info["features"]["a/b"] = info["features"]["action"]; }), HasSubstr("a/b"));
  EXPECT_THAT(refusal([](Json& info) { info["features"].erase("timestamp"); }), HasSubstr("timestamp"));
  EXPECT_THAT(refusal([](Json& info) { info["features"]["task_index"]["dtype"] = "float32"; }),
              HasSubstr("`task_index` (of integers, shape [1])"));
  EXPECT_THAT(refusal([](Json& info) { info.erase("features"); }), HasSubstr("\"features\" is missing"));
}

TEST(DatasetInfo, NamesTheFileThatIsNotJson) {
  ToyDataset toy;
  toy.write();
  std::ofstream(toy.root() / "meta" / "info.json") << "{\"fps\": ";
  EXPECT_THAT([&] { load_dataset_info(toy.root(), "ann/pick"); }, ThrowsMessage<UsageError>(HasSubstr("info.json")));
}

TEST(DatasetInfo, RecognisesDepthMapsByAnyOfTheirThreeFlags) {
  const Json camera = {{"dtype", "image"}, {"shape", {4, 4, 1}}, {"names", {"height", "width", "channels"}}};
  ToyDataset toy;
  for (const char* name : {"rgb", "new", "old", "oldest"}) toy.info["features"][name] = camera;
  toy.info["features"]["new"]["info"] = {{"is_depth_map", true}, {"depth_unit", "m"}};
  toy.info["features"]["old"]["info"] = {{"video.is_depth_map", true}};
  toy.info["features"]["oldest"]["video_info"] = {{"video.is_depth_map", true}};
  toy.write();
  const DatasetInfo info = load_dataset_info(toy.root(), "ann/pick");
  EXPECT_FALSE(info.find("rgb")->is_depth);
  EXPECT_TRUE(info.find("new")->is_depth);
  EXPECT_EQ(info.find("new")->depth_unit, "m");
  EXPECT_TRUE(info.find("old")->is_depth);
  EXPECT_TRUE(info.find("oldest")->is_depth);
}

TEST(PolicyFeatures, AreTypedByKeyAndReorderCamerasToChannelsFirst) {
  ToyDataset toy;
  Json& features = toy.info["features"];
  const Json vector = {{"dtype", "float32"}, {"shape", {3}}, {"names", nullptr}};
  features["observation.environment_state"] = vector;
  features["observation.effort"] = vector;
  features["action.gripper"] = vector;
  features["next.reward"] = vector;
  features["observation.note"] = {{"dtype", "string"}, {"shape", Json::array({1})}, {"names", nullptr}};
  features["top"] = {{"dtype", "video"}, {"shape", {48, 64, 3}}, {"names", {"height", "width", "channel"}}};
  features["side"] = {{"dtype", "image"}, {"shape", {3, 48, 64}}, {"names", {"channels", "height", "width"}}};
  toy.write();
  const PolicyFeatures typed = policy_features(load_dataset_info(toy.root(), "ann/pick"));
  EXPECT_EQ(typed.inputs, (FeatureMap{{"observation.state", {FeatureType::kState, {2}}},
                                      {"observation.environment_state", {FeatureType::kEnv, {3}}},
                                      {"observation.effort", {FeatureType::kState, {3}}},
                                      {"top", {FeatureType::kVisual, {3, 48, 64}}},
                                      {"side", {FeatureType::kVisual, {3, 48, 64}}}}));
  EXPECT_EQ(typed.outputs,
            (FeatureMap{{"action", {FeatureType::kAction, {2}}}, {"action.gripper", {FeatureType::kAction, {3}}}}));
}

TEST(PolicyFeatures, SayWhatToWriteWhenACamerasNamesDoNotTellItsOrder) {
  ToyDataset toy;
  toy.info["features"]["top"] = {{"dtype", "video"}, {"shape", {48, 64, 3}}, {"names", nullptr}};
  toy.write();
  const DatasetInfo info = load_dataset_info(toy.root(), "ann/pick");
  EXPECT_THAT([&] { policy_features(info); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("`top`"), HasSubstr("\"height\", \"width\", \"channels\""))));
}

TEST(DataPath, FollowsPythonsFormatSpecification) {
  EXPECT_EQ(format_data_path("videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4", "a.b", 7, 1234),
            "videos/a.b/chunk-007/file-1234.mp4");
  EXPECT_EQ(format_data_path("{chunk_index}-{file_index:2d}", "", 7, 3), "7- 3");
  EXPECT_THAT([] { format_data_path("episode_{episode_index:06d}.parquet", "", 0, 0); },
              ThrowsMessage<UsageError>(HasSubstr("{episode_index:06d}")));
  EXPECT_THROW(format_data_path("file-{file_index:x}", "", 0, 0), UsageError);
  EXPECT_THROW(format_data_path("file-{file_index", "", 0, 0), UsageError);
}

}  // namespace
}  // namespace lerobot::dataset
