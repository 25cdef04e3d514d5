#include "lerobot/train/held_out_loss.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "lerobot/core/signals.hpp"
#include "lerobot/eval/evaluation_scope.hpp"
#include "lerobot/precision/autocast.hpp"

namespace lerobot::train {

HeldOutLoss::HeldOutLoss(TrainingRun& run)
    : run_(run), rows_(choose_eval_rows(run.eval_dataset->task_indices(), run.config.max_eval_samples)) {}

bool HeldOutLoss::is_due() const {
  return run_.config.eval_steps > 0 && run_.step % run_.config.eval_steps == 0;
}

std::optional<double> HeldOutLoss::measure() {
  const auto batch_size = static_cast<size_t>(run_.config.batch_size);
  const size_t batches = (rows_.size() + batch_size - 1) / batch_size;
  size_t planned = 0;
  const auto next_plan = [&]() -> dataset::BatchPlan {
    const size_t begin = planned++ % batches * batch_size;
    const size_t end = std::min(begin + batch_size, rows_.size());
    return {
        .number = static_cast<int64_t>(planned - 1),
        .rows = {rows_.begin() + static_cast<std::ptrdiff_t>(begin), rows_.begin() + static_cast<std::ptrdiff_t>(end)}};
  };
  std::optional<dataset::DataLoader> loader;
  {
    const signals::BlockedInNewThreads blocked;  // while the threads start; a stop is for this one to hear of
    loader.emplace(
        next_plan, [dataset = run_.eval_dataset](const dataset::BatchPlan& plan) { return dataset->get(plan.rows); },
        dataset::LoaderOptions{.num_workers = run_.config.num_workers, .prefetch_factor = 1});
  }

  const eval::EvaluationScope evaluating(*run_.policy, run_.device);
  const torch::NoGradGuard no_grad;
  torch::Tensor sum = torch::zeros({}, torch::TensorOptions(torch::kFloat32).device(run_.device));
  for (size_t i = 0; i < batches; ++i) {
    if (signals::stop_requested()) return std::nullopt;
    const Batch batch = run_.prepare(loader->next());
    const precision::AutocastScope autocast(run_.device.type(), run_.precision);
    sum += run_.policy->training_forward(batch).loss;
  }
  return sum.item<double>() / static_cast<double>(batches);
}

std::vector<int64_t> choose_eval_rows(std::span<const int64_t> task_indices, int64_t max_samples) {
  std::map<int64_t, std::vector<int64_t>> rows_of_task;
  for (int64_t row = 0; row < std::ssize(task_indices); ++row) rows_of_task[task_indices[row]].push_back(row);
  std::vector<int64_t> rows;
  if (max_samples <= 0) {
    rows.resize(task_indices.size());
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
  }
  const int64_t most = std::max<int64_t>(1, max_samples / std::max<int64_t>(1, std::ssize(rows_of_task)));
  for (const auto& [task, all] : rows_of_task) {
    rows.insert(rows.end(), all.begin(), all.begin() + std::min<int64_t>(most, std::ssize(all)));
  }
  return rows;
}

}  // namespace lerobot::train
