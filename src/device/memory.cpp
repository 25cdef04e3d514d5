#include "lerobot/device/memory.hpp"

#include <c10/core/CachingDeviceAllocator.h>

namespace lerobot::device {
namespace {

bool keeps_count(c10::Device device) {
  return device.is_cuda() || device.is_xpu();
}

}  // namespace

std::optional<double> peak_memory_gib(c10::Device device) {
  if (!keeps_count(device)) return std::nullopt;
  const auto stats = c10::getDeviceAllocator(device.type())->getDeviceStats(device.index());
  const auto all = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return static_cast<double>(stats.allocated_bytes[all].peak) / (1024.0 * 1024.0 * 1024.0);
}

void reset_peak_memory(c10::Device device) {
  if (keeps_count(device)) c10::getDeviceAllocator(device.type())->resetPeakStats(device.index());
}

bool has_page_locked_memory(c10::Device device) {
  return device.is_cuda() || device.is_xpu();
}

}  // namespace lerobot::device
