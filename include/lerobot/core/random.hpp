// The random streams that LeRobot uses outside torch: numpy's SeedSequence and the two MT19937 generators whose states
// stand in a checkpoint.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lerobot {

// numpy.random.SeedSequence(entropy).generate_state(1, np.uint64)[0]. Each integer is split into 32-bit words, low word
// first (0 gives one word). Source: numpy/random/bit_generator.pyx.
// seed_sequence_state({1000, 0}) == 18002537191484623697.
uint64_t seed_sequence_state(std::span<const uint64_t> entropy);

// numpy.random.SeedSequence(entropy).generate_state(count, np.uint64).
std::vector<uint64_t> seed_sequence_states(std::span<const uint64_t> entropy, size_t count);

// A 32-bit Mersenne Twister with its 624 words and position open to view, as checkpoints store them.
// Source: Matsumoto and Nishimura, mt19937ar.c.
class Mt19937 {
 public:
  static constexpr int kStateSize = 624;

  explicit Mt19937(uint32_t seed);                 // init_genrand: torch's CPU generator, numpy's legacy seed
  static Mt19937 from_python_seed(uint64_t seed);  // random.seed(int): init_by_array over the seed's 32-bit words
  uint32_t next();                                 // next 32-bit output

  std::array<uint32_t, kStateSize> state;
  int index = kStateSize;  // position of the next word; kStateSize: regenerate first
};

// torch.randperm(n) with a CPU generator seeded with `seed` (its low 32 bits count). Below `small` it draws 32 bits a
// number and above 64, in another order; `small` is for tests.
std::vector<int64_t> torch_randperm(int64_t n, uint64_t seed, int64_t small = UINT32_MAX / 20);

}  // namespace lerobot
