// Processors in a checkpoint: LeRobot's files are read, and ours are its files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "lerobot/core/error.hpp"
#include "lerobot/core/json.hpp"
#include "processor/sample.hpp"
#include "support/temporary_directory.hpp"
#include "support/torch.hpp"

namespace lerobot::processor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing_support::TemporaryDirectory;

constexpr const char* kPreState = "policy_preprocessor_step_3_normalizer_processor.safetensors";
constexpr const char* kPostState = "policy_postprocessor_step_0_unnormalizer_processor.safetensors";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void edit(const std::filesystem::path& file, const std::function<void(Json&)>& change) {
  Json json = read_json(file);
  change(json);
  std::ofstream(file) << json.dump();
}

void copy_checkpoint(const std::filesystem::path& to) {
  for (const auto& entry : std::filesystem::directory_iterator(sample::kFolder / "act")) {
    std::filesystem::copy_file(entry.path(), to / entry.path().filename());
  }
}

std::string error_of(const std::filesystem::path& directory) {
  try {
    PolicyProcessors::load(directory);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "(no error)";
}

void expect_same_tensors(const TensorMap& ours, const TensorMap& theirs) {
  ASSERT_EQ(ours.size(), theirs.size());
  for (const auto& [name, tensor] : theirs) {
    ASSERT_TRUE(ours.count(name)) << name;
    EXPECT_EQ(ours.at(name).sizes(), tensor.sizes()) << name;
    EXPECT_TRUE(ours.at(name).equal(tensor)) << name;
  }
}

void expect_same_files(const std::filesystem::path& ours, const std::filesystem::path& theirs) {
  for (const auto* name : {"policy_preprocessor.json", "policy_postprocessor.json"}) {
    EXPECT_EQ(text_of(ours / name), text_of(theirs / name)) << name;
  }
  for (const auto* name : {kPreState, kPostState}) {
    expect_same_tensors(load_safetensors(ours / name), load_safetensors(theirs / name));
  }
}

TEST(ProcessorFiles, AreLeRobotsOwnByteForByte) {
  const TemporaryDirectory act, diffusion;
  PolicyProcessors(sample::config(), sample::stats()).save(local_file_system(), act.path());
  expect_same_files(act.path(), sample::kFolder / "act");

  ProcessorConfig config = sample::config();
  config.norm_map = {{"VISUAL", NormalizationMode::kMeanStd},
                     {"STATE", NormalizationMode::kMinMax},
                     {"ACTION", NormalizationMode::kMinMax}};
  PolicyProcessors(config, sample::stats()).save(local_file_system(), diffusion.path());
  expect_same_files(diffusion.path(), sample::kFolder / "diffusion");
}

TEST(ProcessorFiles, ComeBackUnchangedAfterLoadAndSave) {
  const TemporaryDirectory folder;
  PolicyProcessors::load(sample::kFolder / "act").save(local_file_system(), folder.path());
  expect_same_files(folder.path(), sample::kFolder / "act");
}

TEST(ProcessorFiles, KeepWhatOnlyTheFileKnows) {
  const TemporaryDirectory folder, copy;
  ProcessorConfig config = sample::config();
  config.rename_map = {{"observation.images.top", "observation.images.front"}};
  config.device = torch::Device(torch::kCUDA, 1);
  config.eps = 1e-6;
  config.float_dtype = "bfloat16";
  PolicyProcessors(config, sample::stats()).save(local_file_system(), folder.path());
  edit(folder.path() / "policy_preprocessor.json", [](Json& json) {
    EXPECT_EQ(json["steps"][2]["config"]["device"], "cuda");
    json["steps"][3]["config"]["normalize_observation_keys"] = {"observation.state"};
  });
  const auto loaded = PolicyProcessors::load(folder.path());
  EXPECT_EQ(loaded.config().rename_map, config.rename_map);
  EXPECT_EQ(loaded.config().device.type(), torch::kCUDA);
  loaded.save(local_file_system(), copy.path());
  EXPECT_EQ(read_json(copy.path() / "policy_preprocessor.json"), read_json(folder.path() / "policy_preprocessor.json"));
}

TEST(ProcessorFiles, LoadedProcessorsComputeWhatTheSavedOnesDid) {
  PolicyProcessors made(sample::config(), sample::stats());
  PolicyProcessors loaded = PolicyProcessors::load(sample::kFolder / "act");
  const Batch ours = made.preprocess({.tensors = sample::batch(), .task = {}});
  const Batch theirs = loaded.preprocess({.tensors = sample::batch(), .task = {}});
  for (const auto& [key, tensor] : ours.tensors) EXPECT_TRUE(tensor.equal(theirs.at(key))) << key;
  const torch::Tensor action = torch::randn({3, 2});
  EXPECT_TRUE(made.postprocess(action).equal(loaded.postprocess(action)));
}

TEST(ProcessorFiles, ResumeKeepsTheCheckpointsStatisticsAndFineTuningTakesTheDatasets) {
  FeatureStats of_dataset = sample::stats();
  of_dataset["action"]["mean"] = torch::full({2}, 100.0);
  ProcessorOverrides overrides{.norm_map = sample::norm_map(NormalizationMode::kMeanStd)};
  const torch::Tensor zero = torch::zeros({2});
  const auto resumed = PolicyProcessors::load(sample::kFolder / "act", overrides).postprocess(zero);
  EXPECT_TRUE(resumed.equal(sample::stats()["action"]["mean"]));

  overrides.stats = of_dataset;
  EXPECT_TRUE(
      PolicyProcessors::load(sample::kFolder / "act", overrides).postprocess(zero).equal(torch::full({2}, 100.0)));
  overrides.stats = FeatureStats{};  // no statistics are no override
  EXPECT_TRUE(PolicyProcessors::load(sample::kFolder / "act", overrides).postprocess(zero).equal(resumed));
}

TEST(ProcessorFiles, OverridesReplaceFeaturesModesAndNames) {
  const ProcessorOverrides overrides{.input_features = FeatureMap{{"observation.state", {FeatureType::kState, {6}}}},
                                     .norm_map = NormalizationMap{{"STATE", NormalizationMode::kIdentity}},
                                     .rename_map = RenameMap{{"observation.joints", "observation.state"}}};
  PolicyProcessors processors = PolicyProcessors::load(sample::kFolder / "act", overrides);
  EXPECT_EQ(processors.config().input_features.size(), 1U);
  EXPECT_EQ(processors.config().output_features, sample::outputs());
  const torch::Tensor joints = torch::randn({2, 6});
  const Batch result = processors.preprocess({.tensors = {{"observation.joints", joints}}, .task = {}});
  EXPECT_TRUE(result.at("observation.state").equal(joints));
}

TEST(ProcessorFiles, AcceptStatisticsThatWereSavedAsSingleNumbers) {
  const TemporaryDirectory folder;
  copy_checkpoint(folder.path());
  TensorMap tensors = load_safetensors(folder.path() / kPostState);
  for (auto& [name, tensor] : tensors) {
    if (tensor.numel() == 1) tensor = tensor.reshape({});
  }
  save_safetensors(local_file_system(), folder.path() / kPostState, tensors);
  EXPECT_TRUE(
      PolicyProcessors::load(folder.path()).postprocess(torch::zeros({2})).equal(sample::stats()["action"]["mean"]));
}

TEST(ProcessorFiles, AcceptStepsNamedByTheirPythonClass) {
  const TemporaryDirectory folder;
  copy_checkpoint(folder.path());
  edit(folder.path() / "policy_postprocessor.json", [](Json& json) {
    json["steps"][0].erase("registry_name");
    json["steps"][0]["class"] = "lerobot.processor.normalize_processor.UnnormalizerProcessorStep";
  });
  EXPECT_EQ(error_of(folder.path()), "(no error)");
}

TEST(ProcessorFiles, AMissingFileIsNamedWithTheWayOut) {
  const TemporaryDirectory folder;
  EXPECT_THAT(error_of(folder.path()),
              AllOf(HasSubstr("policy_preprocessor.json is missing"), HasSubstr("migrate_policy_normalization"),
                    HasSubstr("--policy.path=" + folder.path().string())));
  EXPECT_FALSE(has_processor_files(folder.path()));
  copy_checkpoint(folder.path());
  EXPECT_TRUE(has_processor_files(folder.path()));
  std::filesystem::remove(folder.path() / kPreState);
  EXPECT_THAT(error_of(folder.path()), AllOf(HasSubstr(kPreState), HasSubstr("incomplete")));
}

struct Damage {
  std::string name;
  std::function<void(Json&)> change;
  std::string expected;
};

class DamagedProcessorFiles : public ::testing::TestWithParam<Damage> {};

TEST_P(DamagedProcessorFiles, AreRefusedWithFileAndStep) {
  const TemporaryDirectory folder;
  copy_checkpoint(folder.path());
  edit(folder.path() / "policy_preprocessor.json", GetParam().change);
  EXPECT_THAT(error_of(folder.path()), AllOf(HasSubstr("policy_preprocessor.json"), HasSubstr(GetParam().expected)));
}

INSTANTIATE_TEST_SUITE_P(
    All, DamagedProcessorFiles,
    ::testing::Values(
        Damage{"UnknownStep", [](Json& json) { json["steps"][1]["registry_name"] = "tokenizer_processor"; },
               "step 1 is `tokenizer_processor`, which is not supported here"},
        Damage{"StepOfTheOtherSide", [](Json& json) { json["steps"][3]["registry_name"] = "unnormalizer_processor"; },
               "step 3 is `unnormalizer_processor`"},
        Damage{"StepTwice", [](Json& json) { json["steps"].push_back(json["steps"][2]); },
               "has the step `device_processor` twice"},
        Damage{"RenameLast", [](Json& json) { std::swap(json["steps"][0], json["steps"][3]); },
               "has `rename_observations_processor` after `normalizer_processor`"},
        Damage{"NoNormalizer", [](Json& json) { json["steps"].erase(3); }, "has no step `normalizer_processor`"},
        Damage{"NamelessStep", [](Json& json) { json["steps"][0] = Json::object(); },
               "step 0 has neither `registry_name` nor `class`"},
        Damage{"UnknownField", [](Json& json) { json["steps"][2]["config"]["float_type"] = nullptr; },
               "step 2 (`device_processor`): `float_type` is not a known field"},
        Damage{"UnknownMode", [](Json& json) { json["steps"][3]["config"]["norm_map"]["STATE"] = "MEAN"; },
               "step 3 (`normalizer_processor`): `norm_map` gives STATE the unknown mode \"MEAN\""},
        Damage{"UnknownType", [](Json& json) { json["steps"][3]["config"]["features"]["action"]["type"] = "ACT"; },
               "gives `action` the unknown type \"ACT\""},
        Damage{"NoShape", [](Json& json) { json["steps"][3]["config"]["features"]["action"].erase("shape"); },
               "has no type and shape for `action`"},
        Damage{"NoSteps", [](Json& json) { json.erase("steps"); }, "is not a processor file"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lerobot::processor
