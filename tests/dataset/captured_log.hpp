// Collects the log's lines while it lives.
#pragma once

#include <string>
#include <string_view>

#include "lerobot/core/log.hpp"

namespace lerobot::testing_support {

class CapturedLog {
 public:
  CapturedLog() {
    log::set_line_writer([this](std::string_view line) { text_ += line; });
  }
  ~CapturedLog() { log::set_line_writer({}); }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace lerobot::testing_support
