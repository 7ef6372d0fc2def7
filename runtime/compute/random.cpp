#include "runtime/compute/random.h"

#include <algorithm>
#include <cmath>

#include "core/tensors/random_bits.h"
#include "runtime/compute/loop_nest.h"
#include "runtime/compute/parallel.h"
#include "runtime/memory/dtypes.h"

namespace mtfc {
namespace {

constexpr int64_t kDrawWork = 16;  // element operations that one draw costs, roughly

// The distance between the seeds of a loop's iterations: odd, and far from seeds that people choose.
constexpr uint64_t kSeedStride = 0x9E3779B97F4A7C15;

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

template <typename T>
T rounded(double x, Distribution distribution) {
  const T value = static_cast<T>(x);
  // Rounding must not reach the end of the half-open interval.
  if (distribution == Distribution::kUniform && value >= 1) return std::nextafter(T{1}, T{0});
  return value;
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
