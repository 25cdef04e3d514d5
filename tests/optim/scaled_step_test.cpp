// The order of one fp16 update, replayed against torch: scale, backward, unscale, clip, step or skip, update the scale,
// move the schedule on.
#include <gtest/gtest.h>

#include <limits>

#include "lerobot/optim/grad_clip.hpp"
#include "lerobot/optim/optimizer.hpp"
#include "lerobot/optim/optimizer_configs.hpp"
#include "lerobot/precision/grad_scaler.hpp"
#include "support/torch.hpp"

namespace lerobot::optim {
namespace {

torch::Tensor tensor_from(const Json& rows) {
  std::vector<float> values;
  for (const Json& row : rows)
    for (const Json& value : row) values.push_back(value.get<float>());
  return torch::tensor(values).reshape({static_cast<int64_t>(rows.size()), -1});
}

// 3-4-2 ReLU network with given weights.
struct Network {
  std::vector<torch::Tensor> params;

  explicit Network(const Json& init) {
    const std::vector<std::vector<int64_t>> shapes = {{4, 3}, {4}, {2, 4}, {2}};
    for (size_t i = 0; i < shapes.size(); ++i)
      params.push_back(torch::tensor(init[i].get<std::vector<float>>()).reshape(shapes[i]).requires_grad_());
  }
  torch::Tensor forward(const torch::Tensor& x) const {
    return at::linear(at::linear(x, params[0], params[1]).relu(), params[2], params[3]);
  }
};

TEST(ScaledStep, FollowsTorchThroughOverflows) {
  const Json golden = read_json(LEROBOT_TEST_DATA "/scaler/step_trace.json");
  const auto x = tensor_from(golden["x"]);
  const auto y = tensor_from(golden["y"]);
  Network network(golden["init"]);
  AdamWConfig config;
  config.lr = 0.01;
  config.weight_decay = 0.1;
  Optimizer optimizer(config, {{network.params, std::nullopt}});
  precision::GradScaler scaler({.init_scale = golden["init_scale"], .growth_interval = golden["growth_interval"]});

  for (size_t s = 0; s < golden["steps"].size(); ++s) {
    SCOPED_TRACE(s);
    const Json& expected = golden["steps"][s];
    EXPECT_EQ(scaler.get_scale(), expected["scale_used"].get<double>());
    const auto loss = (network.forward(x) - y).pow(2).mean();
    EXPECT_NEAR(loss.item<float>(), expected["loss"].get<float>(), 2e-6);
    scaler.scale(loss).backward();
    const std::string kind = expected["pattern"];
    if (kind != ".") {
      network.params[0].mutable_grad()[1][2] =
          kind == "i" ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    }
    const auto found_inf = scaler.unscale_(optimizer.gradients());
    const auto norm = clip_grad_norm(network.params, 1.0).norm;
    optimizer.step({}, found_inf);
    scaler.update();
    optimizer.zero_grad();
    optimizer.set_lr(0, 0.01 / static_cast<double>(2 + s));

    EXPECT_EQ(found_inf.item<float>() == 0.0f, expected["optimizer_ran"].get<bool>());
    EXPECT_EQ(found_inf_from_norm(norm).item<float>(), found_inf.item<float>());
    if (!expected["grad_norm"].is_null()) {
      EXPECT_NEAR(norm.item<float>(), expected["grad_norm"].get<float>(), 2e-6);
    }
    EXPECT_EQ(optimizer.state_tensors().at("state/0/step").item<double>(), expected["optimizer_step"].get<double>());
    EXPECT_EQ(scaler.get_scale(), expected["scale_after"].get<double>());
    EXPECT_NEAR(optimizer.lr(0), expected["lr_next"].get<double>(), 1e-15);
    for (size_t i = 0; i < network.params.size(); ++i) {
      const auto weights = torch::tensor(expected["weights"][i].get<std::vector<float>>());
      EXPECT_TRUE(torch::allclose(network.params[i].detach().flatten(), weights, 1e-5, 1e-6)) << "parameter " << i;
    }
  }
}

}  // namespace
}  // namespace lerobot::optim
