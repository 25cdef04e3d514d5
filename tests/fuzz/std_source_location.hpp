// std::source_location for clang 14 and 15, which lack the builtin that libstdc++'s is made of. Included ahead of every
// file of a fuzz build where it is missing, and nowhere else.
#pragma once

#include <source_location>

#ifndef __cpp_lib_source_location
#include <cstdint>

namespace std {

struct source_location {
  static constexpr source_location current(const char* file = __builtin_FILE(),
                                           uint_least32_t line = __builtin_LINE()) noexcept {
    source_location here;
    here.file_ = file;
    here.line_ = line;
    return here;
  }
  constexpr const char* file_name() const noexcept { return file_; }
  constexpr uint_least32_t line() const noexcept { return line_; }

 private:
  const char* file_ = "";
  uint_least32_t line_ = 0;
};

}  // namespace std
#endif
