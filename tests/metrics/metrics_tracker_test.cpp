#include "lerobot/metrics/metrics_tracker.hpp"

#include <gtest/gtest.h>

#include "support/torch.hpp"

namespace lerobot::metrics {
namespace {

using Format = AverageMeter::Format;

MetricsTracker tracker_at(int64_t initial_step) {
  MetricsTracker tracker({.batch_size = 4, .num_frames = 36, .num_episodes = 3, .initial_step = initial_step});
  tracker.declare("loss", "loss", Format::kFixed3);
  tracker.declare("grad_norm", "grdn", Format::kFixed3);
  tracker.declare("lr", "lr", Format::kExponent1);
  tracker.declare("samples_per_s", "smp/s", Format::kFixed0);
  return tracker;
}

TEST(MetricsTracker, PrintsLeRobotsLine) {
  MetricsTracker tracker = tracker_at(0);
  for (const double loss : {6.1, 6.2}) {
    tracker.add("loss", loss);
    tracker.add("grad_norm", 112.7789);
    tracker.add("lr", 1e-5);
    tracker.add("l1_loss", 0.955);
    tracker.step();
  }
  tracker.add("samples_per_s", 15.6);
  EXPECT_EQ(tracker.line(), "step:2 smpl:8 ep:1 epch:0.22 loss:6.150 grdn:112.779 lr:1.0e-05 smp/s:16 l1_loss:0.955");
}

TEST(MetricsTracker, AveragesDeviceScalarsAndHostNumbersAlike) {
  MetricsTracker tracker = tracker_at(0);
  tracker.add("loss", torch::tensor(1.0f));
  tracker.add("loss", torch::tensor(2.0f));
  tracker.add("loss", 6.0);
  EXPECT_DOUBLE_EQ(tracker.mean("loss"), 3.0);
}

TEST(MetricsTracker, KeepsTheMeanWhenMoreScalarsArriveThanAreKeptUnread) {
  MetricsTracker tracker = tracker_at(0);
  for (int i = 0; i < 3000; ++i) tracker.add("loss", torch::tensor(static_cast<float>(i % 2)));
  EXPECT_DOUBLE_EQ(tracker.mean("loss"), 0.5);
}

TEST(MetricsTracker, StartsANewWindowAfterReset) {
  MetricsTracker tracker = tracker_at(10);
  tracker.add("loss", torch::tensor(5.0f));
  tracker.reset();
  EXPECT_EQ(tracker.line(), "step:10 smpl:40 ep:3 epch:1.11 loss:0.000 grdn:0.000 lr:0.0e+00 smp/s:0");
}

TEST(MetricsTracker, RecordsFullPrecision) {
  MetricsTracker tracker = tracker_at(2);
  tracker.add("loss", 0.1);
  const Json record = tracker.record();
  EXPECT_EQ(record.at("step"), 2);
  EXPECT_EQ(record.at("samples"), 8);
  EXPECT_EQ(record.at("loss").get<double>(), 0.1);
  EXPECT_DOUBLE_EQ(record.at("epochs").get<double>(), 8.0 / 36.0);
}

}  // namespace
}  // namespace lerobot::metrics
