#include "lerobot/optim/optimizer.hpp"

#include <gmock/gmock.h>

#include "lerobot/core/error.hpp"
#include "lerobot/optim/optimizer_configs.hpp"
#include "optim/config_from_json.hpp"
#include "support/torch.hpp"

namespace lerobot::optim {
namespace {

constexpr int kParams = 3;
constexpr int kSteps = 6;

std::unique_ptr<OptimizerConfig> config_from(const Json& json) {
  return config_from_json(register_optimizers(), json);
}

// Two groups over three parameters, as the goldens have them.
struct Training {
  Training(const OptimizerConfig& config, const TensorMap& golden, Gate gate = Gate::kByDevice) {
    for (int i = 0; i < kParams; ++i) params.push_back(golden.at("init/" + std::to_string(i)).clone().requires_grad_());
    optimizer.emplace(config, std::vector<ParamGroup>{{{params[0], params[1]}, std::nullopt}, {{params[2]}, 0.003}},
                      gate);
  }

  void set_grads(const TensorMap& golden, int t, double factor = 1.0) {
    for (int i = 0; i < kParams; ++i) {
      const auto found = golden.find("grad/" + std::to_string(t) + "/" + std::to_string(i));
      params[i].mutable_grad() = found == golden.end() ? torch::Tensor() : found->second * factor;
    }
  }

  std::vector<torch::Tensor> snapshot() const {
    std::vector<torch::Tensor> copies;
    for (const auto& param : params) copies.push_back(param.detach().clone());
    for (const auto& [name, tensor] : optimizer->state_tensors()) copies.push_back(tensor.clone());
    return copies;
  }

  std::vector<torch::Tensor> params;
  std::optional<Optimizer> optimizer;
};

bool all_equal(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) { return torch::equal(x, y); });
}

class EachOptimizer : public testing::TestWithParam<const char*> {
 protected:
  const TensorMap golden = load_safetensors(LEROBOT_TEST_DATA "/optim/optimizers.safetensors");
  const std::unique_ptr<OptimizerConfig> config =
      config_from(read_json(LEROBOT_TEST_DATA "/optim/optimizers.json").at(GetParam()));
  Training training{*config, golden};

  void step(int t) {
    training.set_grads(golden, t);
    training.optimizer->step();
  }
};

TEST_P(EachOptimizer, EqualsTorchsOverSeveralSteps) {
  for (int t = 0; t < kSteps; ++t) {
    step(t);
    for (int i = 0; i < kParams; ++i) {
      const auto& expected = golden.at(fmt::format("{}/{}/{}", GetParam(), t, i));
      EXPECT_TRUE(torch::allclose(training.params[i].detach(), expected, 2e-6, 1e-7))
          << "step " << t << " parameter " << i << " off by "
          << (training.params[i].detach() - expected).abs().max().item<float>();
    }
  }
}

TEST_P(EachOptimizer, LeavesEverythingUntouchedWhereFoundInfIsOne) {
  for (int t = 0; t < 3; ++t) step(t);
  const auto before = training.snapshot();
  training.set_grads(golden, 4, std::numeric_limits<double>::quiet_NaN());
  training.optimizer->step({}, torch::ones({}));
  EXPECT_TRUE(all_equal(training.snapshot(), before));
}

TEST_P(EachOptimizer, ContinuesAsIfASkippedFirstStepHadNotBeen) {
  training.set_grads(golden, 1, std::numeric_limits<double>::infinity());
  training.optimizer->step({}, torch::ones({}));
  for (int t = 0; t < kSteps; ++t) {
    training.set_grads(golden, t);
    training.optimizer->step({}, torch::zeros({}));
  }
  Training fresh(*config, golden);
  for (int t = 0; t < kSteps; ++t) {
    fresh.set_grads(golden, t);
    fresh.optimizer->step();
  }
  EXPECT_TRUE(all_equal(training.snapshot(), fresh.snapshot()));
}

TEST_P(EachOptimizer, DividesByTheScale) {
  Training unscaled(*config, golden);
  for (int t = 0; t < kSteps; ++t) {
    unscaled.set_grads(golden, t);
    unscaled.optimizer->step();
    training.set_grads(golden, t, 1024.0);
    training.optimizer->step(torch::full({}, 1024.0f), torch::zeros({}));
  }
  EXPECT_TRUE(all_equal(training.snapshot(), unscaled.snapshot()));
}

TEST_P(EachOptimizer, DoesTheSameWhenTheHostLooksAtScaleAndFoundInf) {
  Training by_host(*config, golden, Gate::kHost);
  for (int t = 0; t < kSteps; ++t) {
    const auto found_inf = torch::full({}, t == 0 || t == 3 ? 1.0f : 0.0f);
    const double factor = t == 0 || t == 3 ? std::numeric_limits<double>::infinity() : 1024.0;
    for (Training* one : {&training, &by_host}) {
      one->set_grads(golden, t, factor);
      one->optimizer->step(torch::full({}, 1024.0f), found_inf);
    }
  }
  const auto of_device = training.snapshot();
  const auto of_host = by_host.snapshot();
  for (int i = 0; i < kParams; ++i) EXPECT_TRUE(torch::equal(of_device[i], of_host[i]));
}

TEST_P(EachOptimizer, WalksTransposedGradientsByTheirIndices) {
  Training plain(*config, golden);
  for (int t = 0; t < 3; ++t) {
    plain.set_grads(golden, t);
    plain.optimizer->step();
    training.set_grads(golden, t);
    auto& grad = training.params[0].mutable_grad();
    grad = grad.t().contiguous().t();
    training.optimizer->step();
  }
  EXPECT_TRUE(all_equal(training.snapshot(), plain.snapshot()));
}

INSTANTIATE_TEST_SUITE_P(Optimizer, EachOptimizer,
                         testing::Values("adamw", "adam", "sgd", "sgd_momentum", "sgd_nesterov", "sgd_dampening"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Optimizer, PassesOverParametersWithoutGradients) {
  auto used = torch::ones({2}).requires_grad_();
  auto unused = torch::ones({2}).requires_grad_();
  Optimizer optimizer(AdamWConfig(), {{{unused, used}, std::nullopt}});
  used.mutable_grad() = torch::ones({2});
  optimizer.step();
  EXPECT_TRUE(torch::equal(unused.detach(), torch::ones({2})));
  EXPECT_FALSE(torch::equal(used.detach(), torch::ones({2})));
  EXPECT_FALSE(optimizer.state_tensors().contains("state/0/step"));
  EXPECT_EQ(optimizer.state_tensors().at("state/1/step").item<float>(), 1.0f);
  EXPECT_EQ(optimizer.gradients().size(), 1u);
}

TEST(Optimizer, CountsOnlyUpdatesThatLanded) {
  auto param = torch::ones({2}).requires_grad_();
  Optimizer optimizer(AdamWConfig(), {{{param}, std::nullopt}});
  for (const float found_inf : {1.0f, 0.0f, 1.0f, 0.0f, 0.0f}) {
    param.mutable_grad() = torch::ones({2});
    optimizer.step({}, torch::full({}, found_inf));
  }
  EXPECT_EQ(optimizer.state_tensors().at("state/0/step").item<float>(), 3.0f);
}

TEST(Optimizer, UsesEachGroupsRate) {
  auto a = torch::zeros({1}).requires_grad_();
  auto b = torch::zeros({1}).requires_grad_();
  SGDConfig config;
  config.lr = 0.5;
  Optimizer optimizer(config, {{{a}, std::nullopt}, {{b}, 0.25}});
  EXPECT_EQ(optimizer.lr(0), 0.5);
  EXPECT_EQ(optimizer.lr(1), 0.25);
  optimizer.set_lr(1, 2.0);
  a.mutable_grad() = torch::ones({1});
  b.mutable_grad() = torch::ones({1});
  optimizer.step();
  EXPECT_EQ(a.item<float>(), -0.5f);
  EXPECT_EQ(b.item<float>(), -2.0f);
  EXPECT_EQ(optimizer.default_lr(), 0.5);
}

TEST(Optimizer, ForgetsOrZeroesGradients) {
  auto param = torch::zeros({1}).requires_grad_();
  Optimizer optimizer(SGDConfig(), {{{param}, std::nullopt}});
  param.mutable_grad() = torch::ones({1});
  optimizer.zero_grad(false);
  EXPECT_EQ(param.grad().item<float>(), 0.0f);
  optimizer.zero_grad();
  EXPECT_FALSE(param.grad().defined());
}

TEST(Optimizer, RefusesAParameterThatStandsTwice) {
  auto param = torch::zeros({1}).requires_grad_();
  EXPECT_THROW(Optimizer(SGDConfig(), {{{param}, std::nullopt}, {{param}, std::nullopt}}), RunError);
  EXPECT_THROW(Optimizer(SGDConfig(), {{{param * 2}, std::nullopt}}), RunError);
}

}  // namespace
}  // namespace lerobot::optim
