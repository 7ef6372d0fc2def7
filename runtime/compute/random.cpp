#include "runtime/compute/random.h"

#include <algorithm>
#include <cmath>

#include "core/tensors/random_bits.h"
#include "runtime/compute/loop_nest.h"
#include "runtime/compute/parallel.h"
#include "runtime/compute/philox_lanes.h"
#include "runtime/compute/run_widest.h"
#include "runtime/memory/dtypes.h"

namespace mtfc {
namespace {

constexpr int64_t kDrawWork = 16;  // element operations that one draw costs, roughly

// The distance between the seeds of a loop's iterations: odd, and far from seeds that people choose.
constexpr uint64_t kSeedStride = 0x9E3779B97F4A7C15;

// The largest number below 1.
template <typename T>
constexpr T kMost = T(sizeof(T) == 2   ? 0x1p0 - 0x1p-8
                      : sizeof(T) == 4 ? 0x1p0 - 0x1p-24
                                       : 0x1p0 - 0x1p-53);

uint32_t low(uint64_t x) {
  return static_cast<uint32_t>(x);
}
uint32_t high(uint64_t x) {
  return static_cast<uint32_t>(x >> 32);
}

double draw(const RandomNumbers& numbers, Distribution distribution, uint64_t index) {
  switch (distribution) {
    case Distribution::kNormal:
      return numbers.normal(index);
    case Distribution::kUniform:
      return numbers.uniform(index);
    case Distribution::kTruncatedNormal:
      return numbers.truncated_normal(index);
  }
  return 0;
}

/// Uniform numbers at consecutive indices from `first` on, as RandomNumbers::uniform gives them.
template <typename T>
struct UniformRun {
  std::array<uint32_t, 2> key;
  uint32_t step;
  uint64_t first;
  int64_t count;
  T* result;

  MTFC_INLINE void run(const UniformRun& work) {
    constexpr auto kTogether = static_cast<uint64_t>(2 * PhiloxLanes::kLanes);
    const uint64_t end = work.first + static_cast<uint64_t>(work.count);
    PhiloxLanes lanes;
    for (uint64_t base = work.first / kTogether * kTogether; base < end; base += kTogether) {
      lanes.count_from(base / 2, work.step, 0);
      lanes.run(work.key[0], work.key[1]);
      T found[kTogether];
      for (size_t word = 0; word < 4; word += 2)
#pragma omp simd
        for (size_t lane = 0; lane < static_cast<size_t>(PhiloxLanes::kLanes); ++lane) {
          // Both terms and their sum are exact. Vectors convert signed integers alone.
          const double upper = static_cast<double>(
                           static_cast<int32_t>(lanes.words[word + 1][lane] ^ 0x80000000u)),
                       lower = static_cast<double>(static_cast<int32_t>(lanes.words[word][lane] >> 11));
          const T value = static_cast<T>((upper + 0x1p31) * 0x1p-32 + lower * 0x1p-53);
          found[2 * lane + word / 2] = value < kMost<T> ? value : kMost<T>;
        }
      const uint64_t from = std::max(base, work.first), to = std::min(base + kTogether, end);
      std::copy(found + (from - base), found + (to - base), work.result + (from - work.first));
    }
  }
};

template <typename T>
T rounded(double x, Distribution distribution) {
  const T value = static_cast<T>(x);
  // Rounding must not reach the end of the half-open interval.
  return distribution == Distribution::kUniform && value >= 1 ? kMost<T> : value;
}

/// Maps each local position to its global index: `first` plus the nest's offset, plus `part_stride` times the
/// part number that the operand gives.
struct RandomPlan {
  LoopNest nest;
  int64_t first = 0;
  bool is_part = false;
  int64_t part_stride = 0;
  int64_t elements = 0;
  uint64_t name_hash = 0;
  Distribution distribution = Distribution::kUniform;
};

template <typename T>
void fill(const RandomPlan& plan, const RandomNumbers& numbers, int64_t first, T* result,
          const Interval& range) {
  if (range.begin >= range.end) return;
  if (plan.distribution == Distribution::kUniform && plan.nest.loops() > 0 &&
      plan.nest.strides[0].back() == 1) {
    const int64_t length = plan.nest.extents.back();
    for (int64_t i = range.begin, next = 0; i < range.end; i = next) {
      next = std::min(range.end, i + length - i % length);
      const NestCursor at(plan.nest, plan.nest.loops(), i);
      numbers.uniforms(static_cast<uint64_t>(first + at.offset(0)), next - i, result + i);
    }
    return;
  }
  NestCursor at(plan.nest, plan.nest.loops(), range.begin);
  for (int64_t i = range.begin, end = range.end; i < end; ++i, at.next())
    result[i] = rounded<T>(draw(numbers, plan.distribution, static_cast<uint64_t>(first + at.offset(0))),
                           plan.distribution);
}

RandomPlan plan_of(const KernelSite& site, Distribution distribution) {
  const LocalTensor& result = site.results[0];
  Dims dims = result.type.dims;
  RandomPlan plan;
  plan.is_part = !site.operands.empty();
  int64_t parts = 1;
  int interleaved = -1;
  if (plan.is_part) {
    const Dim& whole = site.attributes.get<Dim>("interleaved");
    interleaved = position(dims, whole.name);
    Dim& own = dims[static_cast<size_t>(interleaved)];
    parts = whole.size / own.size;
    own = whole;
  }
  std::vector<int64_t> sizes;
  for (const Dim& dim : dims) sizes.push_back(dim.size);
  std::vector<int64_t> strides = dense_strides(sizes);
  if (plan.is_part) {
    int64_t& stride = strides[static_cast<size_t>(interleaved)];
    plan.part_stride = stride;
    stride *= parts;
  }
  for (size_t i = 0; i < strides.size(); ++i) plan.first += result.box[i].begin * strides[i];
  plan.nest = collapse({result.extents(), {strides}});
  plan.elements = result.elements();
  plan.name_hash = stable_hash(site.attributes.get_or("key", std::string(site.name)));
  plan.distribution = distribution;
  return plan;
}

}  // namespace

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xd2511f53} * counter[0], second = uint64_t{0xcd9e8d57} * counter[2];
    counter = {high(second) ^ counter[1] ^ key[0], low(second), high(first) ^ counter[3] ^ key[1],
               low(first)};
    key[0] += 0x9e3779b9;
    key[1] += 0xbb67ae85;
  }
  return counter;
}

uint64_t stable_hash(std::string_view text) {
  return mixed(hash_bytes(text));
}

RandomNumbers::RandomNumbers(uint64_t name_hash, uint64_t seed, int64_t step)
    : step_(low(static_cast<uint64_t>(step))) {
  const uint64_t key = mixed(mixed(name_hash ^ mixed(seed)) + high(static_cast<uint64_t>(step)));
  key_ = {low(key), high(key)};
}

std::array<double, 2> RandomNumbers::uniforms(uint64_t index, uint32_t attempt) const {
  const uint64_t block = index / 2;
  const auto words = philox4x32({low(block), high(block), step_, attempt}, key_);
  const auto unit = [](uint32_t upper, uint32_t lower) {
    return static_cast<double>((uint64_t{upper} << 32 | lower) >> 11) * 0x1p-53;
  };
  return {unit(words[1], words[0]), unit(words[3], words[2])};
}

double RandomNumbers::uniform(uint64_t index) const {
  return uniforms(index, 0)[index % 2];
}

template <typename T>
void RandomNumbers::uniforms(uint64_t first, int64_t count, T* result) const {
  run_widest(UniformRun<T>{key_, step_, first, count, result});
}

template void RandomNumbers::uniforms(uint64_t, int64_t, float*) const;
template void RandomNumbers::uniforms(uint64_t, int64_t, double*) const;
template void RandomNumbers::uniforms(uint64_t, int64_t, Bf16*) const;

double RandomNumbers::normal(uint64_t index, uint32_t attempt) const {
  const auto [radius, turn] = uniforms(index, attempt);
  return normal_of(std::log1p(-radius), turn, index % 2 == 1);
}

double RandomNumbers::normal(uint64_t index) const {
  return normal(index, 0);
}

double RandomNumbers::truncated_normal(uint64_t index) const {
  for (uint32_t attempt = 0;; ++attempt)
    if (const double x = normal(index, attempt); std::abs(x) <= 2) return x;
}

Kernel prepare_random(const KernelSite& site, Distribution distribution) {
  const RandomPlan plan = plan_of(site, distribution);
  return dispatch(Floats{}, site.results[0].type.dtype, [&]<typename T>() -> Kernel {
    return [plan](const KernelRun& run) {
      const int64_t round = plan.is_part ? 0 : run.round;
      const RandomNumbers numbers(plan.name_hash, run.seed + static_cast<uint64_t>(round) * kSeedStride,
                                  run.step);
      int64_t first = plan.first;
      if (plan.is_part) first += *reinterpret_cast<const int32_t*>(run.operands[0]) * plan.part_stride;
      parallel_ranges(plan.elements, plan.elements * kDrawWork, [&](int64_t begin, int64_t end) {
        fill(plan, numbers, first, reinterpret_cast<T*>(run.results[0]), {begin, end});
      });
      return plan.elements;
    };
  });
}

}  // namespace mtfc
