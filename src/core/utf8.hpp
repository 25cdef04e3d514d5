// Steps through well-formed UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lerobot {

// One code point of well-formed UTF-8, starting at text[i]; moves i past it.
inline uint32_t next_code_point(std::string_view text, size_t& i) {
  const auto lead = static_cast<unsigned char>(text[i++]);
  if (lead < 0x80) return lead;
  const int continuation_bytes = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
  uint32_t code_point = lead & (0x3F >> continuation_bytes);
  for (int k = 0; k < continuation_bytes; ++k) {
    code_point = code_point << 6 | (static_cast<unsigned char>(text[i++]) & 0x3F);
  }
  return code_point;
}

}  // namespace lerobot
