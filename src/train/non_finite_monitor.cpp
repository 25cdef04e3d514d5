#include "lerobot/train/non_finite_monitor.hpp"

#include <torch/csrc/autograd/generated/variable_factories.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>

namespace lerobot::train {

void NonFiniteMonitor::record(const torch::Tensor& found_inf, int64_t step) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor flag = found_inf.reshape({1});
  if (!count_.defined()) {
    base_step_ = step;
    count_ = torch::zeros_like(flag);
    first_step_ = torch::full_like(flag, -1);
  }
  // flag * (count == 0): 1 only at the first bad step of the window.
  const torch::Tensor is_first = flag * (count_ == 0);
  first_step_.addcmul_(is_first, is_first, static_cast<double>(step - base_step_ + 1));
  count_.add_(flag);
  if (!in_a_row_.defined()) in_a_row_ = torch::zeros_like(flag);
  in_a_row_.add_(1).mul_(flag);
}

NonFiniteMonitor::Report NonFiniteMonitor::take() {
  Report report;
  if (!count_.defined()) return report;
  const torch::Tensor values = torch::cat({count_, first_step_, in_a_row_}).cpu();
  report.count = std::llround(values[0].item<float>());
  report.in_a_row = std::llround(values[2].item<float>());
  if (report.count > 0) report.first_step = base_step_ + std::llround(values[1].item<float>());
  count_.reset();
  first_step_.reset();
  return report;
}

}  // namespace lerobot::train
