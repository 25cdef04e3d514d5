#include "dataset/sha256.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace lerobot::testing_support {
namespace {

// The first 32 bits of the fractional part of the cube roots of the first 64 primes.
std::array<uint32_t, 64> round_constants() {
  std::array<uint32_t, 64> constants{};
  size_t found = 0;
  for (int candidate = 2; found < constants.size(); ++candidate) {
    bool is_prime = true;
    for (int divisor = 2; divisor * divisor <= candidate; ++divisor) is_prime = is_prime && candidate % divisor != 0;
    if (!is_prime) continue;
    const long double root = cbrtl(static_cast<long double>(candidate));
    constants[found++] = static_cast<uint32_t>((root - floorl(root)) * 4294967296.0L);
  }
  return constants;
}

void compress(std::array<uint32_t, 8>& hash, std::span<const uint8_t> block, std::span<const uint32_t> constants) {
  std::array<uint32_t, 64> w{};
  for (size_t t = 0; t < 16; ++t)
    w[t] = uint32_t{block[4 * t]} << 24 | uint32_t{block[4 * t + 1]} << 16 | uint32_t{block[4 * t + 2]} << 8 |
           uint32_t{block[4 * t + 3]};
  for (size_t t = 16; t < 64; ++t) {
    const uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    const uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = hash;
  for (size_t t = 0; t < 64; ++t) {
    const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + constants[t] + w[t];
    const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<uint32_t, 8> change{a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < hash.size(); ++i) hash[i] += change[i];
}

}  // namespace

std::string sha256(std::span<const std::byte> bytes) {
  std::vector<uint8_t> padded;
  for (std::byte byte : bytes) padded.push_back(static_cast<uint8_t>(byte));
  padded.push_back(0x80);
  while (padded.size() % 64 != 56) padded.push_back(0);
  for (int shift = 56; shift >= 0; shift -= 8) padded.push_back(static_cast<uint8_t>(bytes.size() * 8 >> shift));

  std::array<uint32_t, 8> hash{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                               0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const auto constants = round_constants();
  for (size_t i = 0; i < padded.size(); i += 64) compress(hash, std::span(padded).subspan(i, 64), constants);
  std::string text;
  for (uint32_t word : hash) text += fmt::format("{:08x}", word);
  return text;
}

}  // namespace lerobot::testing_support
