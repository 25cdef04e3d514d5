#include "lerobot/policy/resnet_weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <cstdlib>
#include <fstream>

#include "lerobot/core/error.hpp"
#include "lerobot/core/safetensors.hpp"
#include "policy/golden_case.hpp"
#include "support/temporary_directory.hpp"

namespace lerobot::policy {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// An environment variable for the duration of a test.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* previous = std::getenv(name)) previous_ = previous;
    set(value);
  }
  ~ScopedVariable() { set(previous_ ? previous_->c_str() : nullptr); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  void set(const char* value) {
    if (value) {
      setenv(name_, value, 1);
    } else {
      unsetenv(name_);
    }
  }
  const char* name_;
  std::optional<std::string> previous_;
};

TensorMap torchvision_weights(const ResNet& backbone) {
  TensorMap tensors;
  for (const auto& parameter : backbone.named_parameters()) tensors[parameter.key()] = parameter.value().detach();
  for (const auto& buffer : backbone.named_buffers()) tensors[buffer.key()] = buffer.value();
  tensors["fc.weight"] = torch::zeros({1000, backbone.out_channels()});
  tensors["fc.bias"] = torch::zeros({1000});
  return tensors;
}

std::string refusal(ResNet& backbone, const std::string& name, const std::string& weights) {
  try {
    load_backbone_weights(backbone, name, weights);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(BackboneWeights, NamesLeadToTorchvisionsFiles) {
  EXPECT_EQ(backbone_weights_file_name("resnet18", "ResNet18_Weights.IMAGENET1K_V1"), "resnet18-f37072fd.pth");
  EXPECT_EQ(backbone_weights_file_name("resnet34", "IMAGENET1K_V1"), "resnet34-b627a593.pth");
  EXPECT_EQ(backbone_weights_file_name("resnet34", "DEFAULT"), "resnet34-b627a593.pth");
  EXPECT_EQ(backbone_weights_file_name("resnet50", "IMAGENET1K_V1"), "resnet50-0676ba61.pth");
  EXPECT_EQ(backbone_weights_file_name("resnet50", "ResNet50_Weights.DEFAULT"), "resnet50-11ad3fa6.pth");
  EXPECT_EQ(backbone_weights_file_name("resnet101", "DEFAULT"), "resnet101-cd907fc2.pth");
  EXPECT_EQ(backbone_weights_file_name("resnet152", "IMAGENET1K_V2"), "resnet152-f82ba261.pth");
}

TEST(BackboneWeights, NamesOfAnotherDepthOrVersionAreProblems) {
  EXPECT_THAT(*backbone_weights_problem("resnet34", "ResNet18_Weights.IMAGENET1K_V1"),
              AllOf(HasSubstr("ResNet18_Weights.IMAGENET1K_V1"), HasSubstr("ResNet34_Weights.IMAGENET1K_V1"),
                    HasSubstr("vision_backbone")));
  EXPECT_TRUE(backbone_weights_problem("resnet18", "IMAGENET1K_V2"));
  EXPECT_TRUE(backbone_weights_problem("resnet50", "imagenet"));
  EXPECT_FALSE(backbone_weights_problem("resnet50", "IMAGENET1K_V2"));
  EXPECT_FALSE(backbone_weights_problem("resnet50", "weights/mine.pth"));
}

TEST(BackboneWeights, CacheFollowsPyTorchsVariables) {
  const ScopedVariable home("HOME", "/home/somebody");
  const ScopedVariable xdg("XDG_CACHE_HOME", nullptr);
  const ScopedVariable torch_home("TORCH_HOME", nullptr);
  EXPECT_EQ(torch_checkpoint_cache(), "/home/somebody/.cache/torch/hub/checkpoints");
  const ScopedVariable xdg_set("XDG_CACHE_HOME", "/cache");
  EXPECT_EQ(torch_checkpoint_cache(), "/cache/torch/hub/checkpoints");
  const ScopedVariable torch_home_set("TORCH_HOME", "/torch");
  EXPECT_EQ(torch_checkpoint_cache(), "/torch/hub/checkpoints");
}

class BackboneWeightsOnDisk : public testing::Test {
 protected:
  testing_support::TemporaryDirectory directory_;
  ScopedVariable torch_home_{"TORCH_HOME", directory_.path().c_str()};
};

TEST_F(BackboneWeightsOnDisk, TellsHowToGetWhatIsNotThere) {
  ResNet backbone("resnet18", false);
  const std::string path = (directory_.path() / "hub/checkpoints/resnet18-f37072fd.pth").string();
  EXPECT_THAT(refusal(backbone, "resnet18", "ResNet18_Weights.IMAGENET1K_V1"),
              AllOf(HasSubstr("curl -L --create-dirs -o '" + path + "' " +
                              "https://download.pytorch.org/models/resnet18-f37072fd.pth"),
                    HasSubstr("--policy.pretrained_backbone_weights=null")));
  EXPECT_THAT(refusal(backbone, "resnet18", "nowhere/mine.pth"), HasSubstr("nowhere/mine.pth"));
}

TEST_F(BackboneWeightsOnDisk, FillsTheBackboneFromSafetensorsWithoutTheClassifier) {
  torch::manual_seed(1);
  const ResNet source("resnet18", false);
  const auto path = directory_.path() / "resnet18.safetensors";
  save_safetensors(local_file_system(), path, torchvision_weights(source));
  ResNet backbone("resnet18", false);
  load_backbone_weights(backbone, "resnet18", path.string());
  for (const auto& parameter : source.named_parameters()) {
    EXPECT_TRUE(torch::equal(backbone.named_parameters()[parameter.key()], parameter.value())) << parameter.key();
  }
  ResNet deeper("resnet34", false);
  EXPECT_THAT(refusal(deeper, "resnet34", path.string()), AllOf(HasSubstr("resnet34"), HasSubstr("is missing")));
}

TEST_F(BackboneWeightsOnDisk, RefusesADeeperNetworksWeights) {
  const ResNet source("resnet34", false);
  const auto path = directory_.path() / "resnet34.safetensors";
  save_safetensors(local_file_system(), path, torchvision_weights(source));
  ResNet backbone("resnet18", false);
  EXPECT_THAT(refusal(backbone, "resnet18", path.string()), AllOf(HasSubstr("layer1.2."), HasSubstr("resnet18")));
}

TEST_F(BackboneWeightsOnDisk, FindsANamedFileInTheCacheAndSaysWhatIsWrongWithIt) {
  const auto path = directory_.path() / "hub/checkpoints/resnet18-f37072fd.pth";
  std::filesystem::create_directories(path.parent_path());
  std::filesystem::copy_file(policies_data() / "pickle/parameters.pth", path);
  ResNet backbone("resnet18", false);
  EXPECT_THAT(refusal(backbone, "resnet18", "DEFAULT"), AllOf(HasSubstr(path.string()), HasSubstr("conv1.weight")));
}

TEST_F(BackboneWeightsOnDisk, AreNotReadWhereACheckpointWillReplaceThem) {
  ACTConfig config = GoldenCase("act_image").config;
  config.pretrained_backbone_weights = "ResNet18_Weights.IMAGENET1K_V1";
  EXPECT_THROW(ACTPolicy{config}, UsageError);
  config.pretrained_path = "some/checkpoint/pretrained_model";
  EXPECT_NO_THROW(ACTPolicy{config});
}

}  // namespace
}  // namespace lerobot::policy
