#include "lerobot/core/random.hpp"

#include <c10/util/Exception.h>

#include <numeric>
#include <utility>

namespace lerobot {
namespace {

// The mixing of numpy.random.SeedSequence, after Melissa O'Neill's seed_seq_fe128.
// Source: numpy/random/bit_generator.pyx (constants, pool size and order of the mixing).
constexpr size_t kPoolSize = 4;
constexpr uint32_t kInitA = 0x43b0d7e5;
constexpr uint32_t kMultiplierA = 0x931e8875;
constexpr uint32_t kInitB = 0x8b51f9dd;
constexpr uint32_t kMultiplierB = 0x58f38ded;
constexpr uint32_t kMixLeft = 0xca01f9dd;
constexpr uint32_t kMixRight = 0x4973f715;

uint32_t fold(uint32_t value) {
  return value ^ (value >> 16);
}

// A hash whose constant moves on with every call.
class RollingHash {
 public:
  RollingHash(uint32_t init, uint32_t multiplier) : constant_(init), multiplier_(multiplier) {}
  uint32_t operator()(uint32_t value) {
    value ^= constant_;
    constant_ *= multiplier_;
    return fold(value * constant_);
  }

 private:
  uint32_t constant_;
  uint32_t multiplier_;
};

uint32_t mix(uint32_t x, uint32_t y) {
  return fold(kMixLeft * x - kMixRight * y);
}

// 32-bit words of each integer, low word first; 0 is one word.
std::vector<uint32_t> words_of(std::span<const uint64_t> integers) {
  std::vector<uint32_t> words;
  for (const uint64_t integer : integers) {
    words.push_back(static_cast<uint32_t>(integer));
    if (integer >> 32) words.push_back(static_cast<uint32_t>(integer >> 32));
  }
  return words;
}

std::array<uint32_t, kPoolSize> entropy_pool(const std::vector<uint32_t>& entropy) {
  std::array<uint32_t, kPoolSize> pool{};
  RollingHash hash(kInitA, kMultiplierA);
  for (size_t i = 0; i < kPoolSize; ++i) pool[i] = hash(i < entropy.size() ? entropy[i] : 0);
  for (size_t from = 0; from < kPoolSize; ++from) {
    for (size_t to = 0; to < kPoolSize; ++to) {
      if (from != to) pool[to] = mix(pool[to], hash(pool[from]));
    }
  }
  for (size_t from = kPoolSize; from < entropy.size(); ++from) {
    for (uint32_t& word : pool) word = mix(word, hash(entropy[from]));
  }
  return pool;
}

}  // namespace

uint64_t seed_sequence_state(std::span<const uint64_t> entropy) {
  return seed_sequence_states(entropy, 1).front();
}

std::vector<uint64_t> seed_sequence_states(std::span<const uint64_t> entropy, size_t count) {
  const std::array<uint32_t, kPoolSize> pool = entropy_pool(words_of(entropy));
  RollingHash hash(kInitB, kMultiplierB);
  std::vector<uint64_t> states(count);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t low = hash(pool[2 * i % kPoolSize]);
    const uint64_t high = hash(pool[(2 * i + 1) % kPoolSize]);
    states[i] = high << 32 | low;
  }
  return states;
}

Mt19937::Mt19937(uint32_t seed) : state{} {
  state[0] = seed;
  for (uint32_t i = 1; i < kStateSize; ++i) {
    state[i] = 1812433253U * (state[i - 1] ^ (state[i - 1] >> 30)) + i;
  }
}

Mt19937 Mt19937::from_python_seed(uint64_t seed) {
  // init_by_array of mt19937ar.c.
  const std::vector<uint32_t> key = words_of({&seed, 1});
  Mt19937 generator(19650218U);
  auto& state = generator.state;
  uint32_t i = 1;
  const auto advance = [&] {
    if (++i >= kStateSize) {
      state[0] = state[kStateSize - 1];
      i = 1;
    }
  };
  const auto previous_mixed = [&] { return state[i - 1] ^ (state[i - 1] >> 30); };
  uint32_t j = 0;
  for (int k = 0; k < kStateSize; ++k) {  // the key is never longer than the state
    state[i] = (state[i] ^ (previous_mixed() * 1664525U)) + key[j] + j;
    advance();
    j = (j + 1) % key.size();
  }
  for (int k = 0; k < kStateSize - 1; ++k) {
    state[i] = (state[i] ^ (previous_mixed() * 1566083941U)) - i;
    advance();
  }
  state[0] = 0x80000000U;
  return generator;
}

uint32_t Mt19937::next() {
  constexpr int kShift = 397;
  if (index >= kStateSize) {
    for (int k = 0; k < kStateSize; ++k) {
      const uint32_t y = (state[k] & 0x80000000U) | (state[(k + 1) % kStateSize] & 0x7fffffffU);
      state[k] = state[(k + kShift) % kStateSize] ^ (y >> 1) ^ ((y & 1U) ? 0x9908b0dfU : 0U);
    }
    index = 0;
  }
  uint32_t y = state[index++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680U;
  y ^= (y << 15) & 0xefc60000U;
  y ^= y >> 18;
  return y;
}

std::vector<int64_t> torch_randperm(int64_t n, uint64_t seed, int64_t small) {
  TORCH_CHECK(n >= 0, "torch_randperm: n must not be negative, got ", n);
  std::vector<int64_t> permutation(n);
  Mt19937 generator(static_cast<uint32_t>(seed));
  if (n < small) {
    std::iota(permutation.begin(), permutation.end(), int64_t{0});
    for (int64_t i = 0; i + 1 < n; ++i) {
      std::swap(permutation[i], permutation[i + generator.next() % (n - i)]);
    }
    return permutation;
  }
  for (int64_t i = 0; i < n; ++i) {  // Fisher-Yates, inside out
    const uint64_t high = generator.next();
    const uint64_t low = generator.next();
    const auto other = static_cast<int64_t>((high << 32 | low) % static_cast<uint64_t>(i + 1));
    permutation[i] = permutation[other];
    permutation[other] = i;
  }
  return permutation;
}

}  // namespace lerobot
