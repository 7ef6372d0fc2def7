#pragma once
// The arithmetic that hashes and random numbers are made of: the same bits on every machine and in every run.

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace mtfc {

/// Spreads every bit over all others: the finalizer of SplitMix64.
constexpr uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// FNV-1a.
constexpr uint64_t hash_bytes(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// A standard normal number by Box and Muller, from the logarithm of a uniform number in (0, 1] and another in
/// [0, 1); with `second` the other one of the two that they give.
inline double normal_of(double log_uniform, double turn, bool second = false) {
  const double radius = std::sqrt(-2 * log_uniform), angle = 2 * std::numbers::pi * turn;
  return radius * (second ? std::sin(angle) : std::cos(angle));
}

}  // namespace mtfc
