#include "lerobot/metrics/progress_bar.hpp"

#include <gtest/gtest.h>

namespace lerobot::metrics {
namespace {

TEST(ProgressBar, ShowsShareCountElapsedLeftAndSpeed) {
  EXPECT_EQ(ProgressBar::render("Training", 5, 10, 2.5), "Training:  50%|█████     | 5/10 [00:02<00:02,  2.00step/s]");
}

TEST(ProgressBar, ShowsHoursForLongRuns) {
  EXPECT_EQ(ProgressBar::render("Training", 1, 7201, 1.0),
            "Training:   0%|          | 1/7201 [00:01<2:00:00,  1.00step/s]");
}

TEST(ProgressBar, DoesNotDivideByZeroBeforeTheFirstStep) {
  EXPECT_EQ(ProgressBar::render("Training", 0, 10, 0.0), "Training:   0%|          | 0/10 [00:00<?, ?step/s]");
}

TEST(ProgressBar, TellsSecondsForEachWhereItIsSlow) {
  EXPECT_EQ(ProgressBar::render("Stepping", 1, 3, 2.0, "it", "success=50.0%"),
            "Stepping:  33%|███       | 1/3 [00:02<00:04,  2.00s/it, success=50.0%]");
}

}  // namespace
}  // namespace lerobot::metrics
