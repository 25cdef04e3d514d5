// A seeded ACT starts with LeRobot's weights, bit by bit, and draws LeRobot's dropout masks and noise after that.
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <cstring>

#include "lerobot/policy/act/act_policy.hpp"
#include "policy/golden_case.hpp"

namespace lerobot::policy {
namespace {

struct BitSums {
  uint64_t plain = 0;
  uint64_t weighted = 0;  // with the element's index, from 1
};

BitSums bit_sums(const torch::Tensor& tensor) {
  const auto flat = tensor.contiguous();
  const float* values = flat.const_data_ptr<float>();
  BitSums sums;
  for (int64_t i = 0; i < flat.numel(); ++i) {
    uint32_t bits;
    std::memcpy(&bits, values + i, sizeof bits);
    sums.plain += bits;
    sums.weighted += bits * (static_cast<uint64_t>(i) + 1);
  }
  return sums;
}

class ACTInit : public testing::TestWithParam<const char*> {
 protected:
  const Json golden_ = read_json(policies_data() / "act_init_digests.json").at(GetParam());
};

INSTANTIATE_TEST_SUITE_P(LeRobot, ACTInit,
                         testing::Values("camera_state_vae", "env_prenorm", "camera_resnet34",
                                         "camera_resnet50_dilated"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(ACTInit, DrawsTheSameWeightsForASeed) {
  const ACTConfig config = read_act_config(golden_.at("config"));
  torch::manual_seed(1000);
  const ACTPolicy policy(config);
  EXPECT_EQ(torch::rand({1}).item<double>(), golden_.at("next").get<double>()) << "other numbers were drawn";

  std::vector<std::string> order;
  for (const auto& parameter : policy.named_parameters()) order.push_back(parameter.key());
  EXPECT_EQ(order, golden_.at("order").get<std::vector<std::string>>());

  const TensorMap state = state_dict(policy);
  ASSERT_EQ(state.size(), golden_.at("tensors").size());
  for (const auto& [name, digest] : golden_.at("tensors").items()) {
    ASSERT_TRUE(state.contains(name)) << name;
    const torch::Tensor& tensor = state.at(name);
    const auto flat = tensor.to(torch::kFloat64).flatten();
    const auto first = digest.at("first").get<std::vector<double>>();
    for (size_t i = 0; i < first.size(); ++i) {
      EXPECT_NEAR(flat[static_cast<int64_t>(i)].item<double>(), first[i], 1e-6) << name;
    }
    if (name == "model.vae_encoder_pos_enc") continue;  // numpy's sine and cosine may differ in the last bit
    const BitSums sums = bit_sums(tensor);
    EXPECT_EQ(sums.plain, std::stoull(digest.at("bits").get<std::string>())) << name;
    EXPECT_EQ(sums.weighted, std::stoull(digest.at("weighted_bits").get<std::string>())) << name;
  }
}

// The batch of draw_batch() in make_act_init_digests.py.
Batch draw_batch(const ACTConfig& config) {
  torch::manual_seed(11);
  Batch batch;
  batch.tensors["observation.state"] = torch::randn({3, 3});
  batch.tensors["observation.environment_state"] = torch::randn({3, 5});
  for (const auto& [name, _] : config.image_features()) batch.tensors[name] = torch::rand({3, 3, 96, 96});
  batch.tensors["action"] = torch::randn({3, 10, 4});
  batch.tensors["action_is_pad"] = torch::zeros({3, 10}, torch::kBool);
  batch.tensors["action_is_pad"].slice(0, 2, 3).slice(1, 7).fill_(true);
  return batch;
}

TEST_P(ACTInit, DrawsTheSameDropoutAndNoiseForASeed) {
  torch::manual_seed(7);
  const auto probe = torch::empty({64}).bernoulli_(0.5).to(torch::kInt64);
  const std::vector<int64_t> drawn(probe.const_data_ptr<int64_t>(), probe.const_data_ptr<int64_t>() + 64);
  if (drawn != golden_.at("bernoulli").get<std::vector<int64_t>>()) {
    GTEST_SKIP() << "on this processor LibTorch draws other Bernoulli numbers than where the losses were made";
  }
  const ACTConfig config = read_act_config(golden_.at("config"));
  torch::manual_seed(1000);
  ACTPolicy policy(config);
  const Batch batch = draw_batch(config);
  torch::manual_seed(7);
  policy.train();
  for (const double golden : golden_.at("losses")) {
    EXPECT_NEAR(policy.training_forward(batch).loss.item<double>(), golden, 1e-5 * golden);
  }
}

}  // namespace
}  // namespace lerobot::policy
