// numpy.random.Generator(PCG64(SeedSequence(seed))), as far as gymnasium environments use it.
#pragma once

#include <cstdint>
#include <optional>

namespace lerobot::env {

// The same numbers as numpy 2's default_rng(seed).
// Sources: O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random Number
// Generation" (PCG XSL RR 128/64); Lemire, "Fast Random Integer Generation in an Interval"; numpy/random/_pcg64.pyx
// (seeding) and numpy/random/src/distributions (what is drawn for which call).
class NumpyGenerator {
 public:
  explicit NumpyGenerator(uint64_t seed);

  // integers(low, high): in [low, high), for high - low in [2, 2^32).
  int64_t integers(int64_t low, int64_t high);

  // uniform(low, high): in [low, high).
  double uniform(double low, double high);

 private:
  __extension__ using uint128 = unsigned __int128;

  uint64_t next_uint64();
  uint32_t next_uint32();  // the low half of a 64-bit number first; its high half waits for the next call
  void step();

  uint128 state_ = 0;
  uint128 increment_ = 0;
  std::optional<uint32_t> high_half_;
};

}  // namespace lerobot::env
