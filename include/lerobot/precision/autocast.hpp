// Automatic mixed precision for a region of code.
#pragma once

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include "lerobot/precision/precision.hpp"

namespace lerobot::precision {

// Between construction and destruction, operations on `device_type` run in `dtype` where autocast says so. Scopes nest
// and restore what was before. Autocast is a setting of the calling thread alone: a worker needs a scope of its own.
//
// When the outermost scope of a thread ends, the cache of cast weights is cleared. Python's context does this and the
// plain ATen setters do not: without it the first step's cast weights are used for ever and training stands still.
// So: one scope for each forward, closed before the optimizer changes the weights.
class AutocastScope {
 public:
  AutocastScope(c10::DeviceType device_type, c10::ScalarType dtype);
  // kNo: changes nothing.
  AutocastScope(c10::DeviceType device_type, Precision precision);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  void enter(c10::ScalarType dtype);

  c10::DeviceType device_type_;
  bool active_ = false;
  bool previous_enabled_ = false;
  c10::ScalarType previous_dtype_ = c10::ScalarType::Undefined;
};

}  // namespace lerobot::precision
