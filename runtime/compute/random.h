#pragma once
// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// 2011).
//
// A number is a pure function of seed, name, step and index, without state between draws, so any device can
// draw any part of a tensor and all layouts see the same values. An f32 is the rounded f64.

#include <array>
#include <cstdint>
#include <string_view>

#include "runtime/compute/kernel.h"

namespace mtfc {

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// A hash that is the same on every machine and in every run.
uint64_t stable_hash(std::string_view text);

/// The random numbers of one tensor in one step, by index.
class RandomNumbers {
 public:
  RandomNumbers(uint64_t name_hash, uint64_t seed, int64_t step);

  /// Uniform over [0, 1), a multiple of 2^-53.
  double uniform(uint64_t index) const;
  /// The same for consecutive indices, several at a time. T: float, which is rounded to a number below 1, or double.
  template <typename T>
  void uniforms(uint64_t first, int64_t count, T* result) const;
  /// Standard normal.
  double normal(uint64_t index) const;
  /// Standard normal, drawn again until it lies within [-2, 2].
  double truncated_normal(uint64_t index) const;

 private:
  std::array<double, 2> uniforms(uint64_t index, uint32_t attempt) const;
  double normal(uint64_t index, uint32_t attempt) const;

  std::array<uint32_t, 2> key_;
  uint32_t step_;
};

enum class Distribution { kNormal, kUniform, kTruncatedNormal };

/// Fills the result with numbers indexed by the position in the global tensor. Every iteration of a loop
/// draws different numbers, unless an operand says which part of a tensor the result is. Counts one flop per
/// element.
Kernel prepare_random(const KernelSite& site, Distribution distribution);

}  // namespace mtfc
