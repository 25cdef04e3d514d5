#include "lerobot/checkpoint/policy_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "lerobot/checkpoint/checkpoint.hpp"
#include "lerobot/config/checkpoint_layout.hpp"
#include "lerobot/core/log.hpp"
#include "lerobot/core/text.hpp"

namespace lerobot::checkpoint {
namespace {

// "3 tensors (a, b, c)"; of many the first five.
std::string few_of(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  const size_t shown = std::min(names.size(), kShown);
  const std::string list = join(std::span(names).first(shown), ", ");
  const std::string more = names.size() > shown ? fmt::format(", and {} more", names.size() - shown) : "";
  return fmt::format("{} tensor{} ({}{})", names.size(), names.size() == 1 ? "" : "s", list, more);
}

void report_loading(const policy::LoadReport& report, const std::string& file) {
  for (const auto& [dtype, count] : report.converted) {
    log::info(fmt::format("{}: {} tensor{} of type {} converted to the policy's", file, count, count == 1 ? "" : "s",
                          c10::toString(dtype)));
  }
  if (!report.superseded.empty()) {
    log::info(
        fmt::format("{}: {} of normalisation, as LeRobot before 0.4 kept it, not used: the processors do that now",
                    file, few_of(report.superseded)));
  }
  if (!report.missing.empty()) {
    log::warning(
        fmt::format("{} lacks {} of the policy, which keep their initial values", file, few_of(report.missing)));
  }
  if (!report.unexpected.empty()) {
    log::warning(fmt::format("{} has {} that the policy does not have: ignored", file, few_of(report.unexpected)));
  }
}

}  // namespace

void load_policy_weights(policy::Policy& policy, const std::filesystem::path& pretrained_model_directory) {
  const std::string file = (pretrained_model_directory / kWeightsFile).string();
  log::info(fmt::format("Loading weights from {}", file));
  report_loading(policy::load_state_dict(policy, load_weights(pretrained_model_directory), file), file);
}

}  // namespace lerobot::checkpoint
