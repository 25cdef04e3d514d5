#include "lerobot/precision/autocast.hpp"

#include <ATen/autocast_mode.h>

namespace lerobot::precision {

AutocastScope::AutocastScope(c10::DeviceType device_type, c10::ScalarType dtype) : device_type_(device_type) {
  enter(dtype);
}

AutocastScope::AutocastScope(c10::DeviceType device_type, Precision precision) : device_type_(device_type) {
  if (const auto dtype = autocast_dtype(precision)) enter(*dtype);
}

AutocastScope::~AutocastScope() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_type_, previous_enabled_);
  at::autocast::set_autocast_dtype(device_type_, previous_dtype_);
}

void AutocastScope::enter(c10::ScalarType dtype) {
  previous_enabled_ = at::autocast::is_autocast_enabled(device_type_);
  previous_dtype_ = at::autocast::get_autocast_dtype(device_type_);
  at::autocast::set_autocast_enabled(device_type_, true);
  at::autocast::set_autocast_dtype(device_type_, dtype);
  at::autocast::increment_nesting();
  active_ = true;
}

}  // namespace lerobot::precision
