#include "lerobot/metrics/metrics_tracker.hpp"

#include <ATen/ops/stack.h>
#include <fmt/format.h>

#include <cmath>

#include "lerobot/core/text.hpp"

namespace lerobot::metrics {
namespace {

// Above this many unread device scalars they are read, so that a run that never logs stays small.
constexpr size_t kMaxPending = 4096;

}  // namespace

AverageMeter::AverageMeter(std::string key, std::string label, Format format, Counts counts)
    : key_(std::move(key)), label_(std::move(label)), format_(format), counts_(counts) {}

void AverageMeter::add(double value) {
  if (counts_ == Counts::kFiniteOnly && !std::isfinite(value)) return;
  sum_ += value;
  ++count_;
}

void AverageMeter::add(const torch::Tensor& value) {
  pending_.push_back(value);
  if (pending_.size() >= kMaxPending) read_pending();
}

void AverageMeter::read_pending() {
  if (pending_.empty()) return;
  const torch::Tensor values = at::stack(pending_).cpu().to(torch::kFloat64);
  pending_.clear();
  for (int64_t i = 0; i < values.numel(); ++i) add(values.data_ptr<double>()[i]);
}

double AverageMeter::mean() {
  read_pending();
  return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_);
}

void AverageMeter::reset() {
  sum_ = 0.0;
  count_ = 0;
  pending_.clear();
}

std::string AverageMeter::to_string() {
  const double value = mean();
  switch (format_) {
    case Format::kFixed0:
      return fmt::format("{}:{:.0f}", label_, value);
    case Format::kFixed2:
      return fmt::format("{}:{:.2f}", label_, value);
    case Format::kExponent1:
      return fmt::format("{}:{:.1e}", label_, value);
    case Format::kFixed3:
      break;
  }
  return fmt::format("{}:{:.3f}", label_, value);
}

MetricsTracker::MetricsTracker(Options options) : options_(options), steps_(options.initial_step) {}

void MetricsTracker::declare(std::string key, std::string label, AverageMeter::Format format,
                             AverageMeter::Counts counts) {
  meters_.emplace_back(std::move(key), std::move(label), format, counts);
}

AverageMeter& MetricsTracker::meter(std::string_view key) {
  for (auto& meter : meters_)
    if (meter.key() == key) return meter;
  declare(std::string(key), std::string(key), AverageMeter::Format::kFixed3);
  return meters_.back();
}

void MetricsTracker::add(std::string_view key, double value) {
  meter(key).add(value);
}
void MetricsTracker::add(std::string_view key, const torch::Tensor& value) {
  meter(key).add(value);
}
double MetricsTracker::mean(std::string_view key) {
  return meter(key).mean();
}

std::string MetricsTracker::line() {
  const double samples = static_cast<double>(steps_ * options_.batch_size * options_.world_size);
  const double frames_per_episode =
      static_cast<double>(options_.num_frames) / static_cast<double>(options_.num_episodes);
  std::string text = fmt::format("step:{} smpl:{} ep:{} epch:{:.2f}", format_big_number(static_cast<double>(steps_)),
                                 format_big_number(samples), format_big_number(samples / frames_per_episode),
                                 samples / static_cast<double>(options_.num_frames));
  for (auto& meter : meters_) text += ' ' + meter.to_string();
  return text;
}

Json MetricsTracker::record() {
  const int64_t samples = steps_ * options_.batch_size * options_.world_size;
  Json record;
  record["step"] = steps_;
  record["samples"] = samples;
  record["episodes"] = static_cast<double>(samples) * static_cast<double>(options_.num_episodes) /
                       static_cast<double>(options_.num_frames);
  record["epochs"] = static_cast<double>(samples) / static_cast<double>(options_.num_frames);
  for (auto& meter : meters_) record[meter.key()] = meter.mean();
  return record;
}

void MetricsTracker::reset() {
  for (auto& meter : meters_) meter.reset();
}

}  // namespace lerobot::metrics
