// SHA-256 as a hex string, for golden frames. Source: FIPS 180-4.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lerobot::testing_support {

std::string sha256(std::span<const std::byte> bytes);

}  // namespace lerobot::testing_support
