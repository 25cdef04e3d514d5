#include "numpy_generator.hpp"

#include <bit>
#include <vector>

#include "lerobot/core/random.hpp"

namespace lerobot::env {

NumpyGenerator::NumpyGenerator(uint64_t seed) {
  const std::vector<uint64_t> words = seed_sequence_states({&seed, 1}, 4);
  const auto joined = [&](size_t i) { return uint128{words[i]} << 64 | words[i + 1]; };
  increment_ = joined(2) << 1 | 1;
  step();
  state_ += joined(0);
  step();
}

void NumpyGenerator::step() {
  constexpr uint128 kMultiplier = uint128{2549297995355413924U} << 64 | 4865540595714422341U;
  state_ = state_ * kMultiplier + increment_;
}

uint64_t NumpyGenerator::next_uint64() {
  step();
  const auto folded = static_cast<uint64_t>(state_ >> 64) ^ static_cast<uint64_t>(state_);
  return std::rotr(folded, static_cast<int>(state_ >> 122));
}

uint32_t NumpyGenerator::next_uint32() {
  if (high_half_) {
    const uint32_t word = *high_half_;
    high_half_.reset();
    return word;
  }
  const uint64_t both = next_uint64();
  high_half_ = static_cast<uint32_t>(both >> 32);
  return static_cast<uint32_t>(both);
}

int64_t NumpyGenerator::integers(int64_t low, int64_t high) {
  // Lemire's method: the high word of word * range is uniform once the low words below `threshold` are thrown away.
  const auto range = static_cast<uint32_t>(high - low);
  const uint32_t threshold = (0U - range) % range;
  uint64_t product = uint64_t{next_uint32()} * range;
  while (static_cast<uint32_t>(product) < threshold) product = uint64_t{next_uint32()} * range;
  return low + static_cast<int64_t>(product >> 32);
}

double NumpyGenerator::uniform(double low, double high) {
  const double unit = static_cast<double>(next_uint64() >> 11) * 0x1p-53;
  return low + (high - low) * unit;
}

}  // namespace lerobot::env
