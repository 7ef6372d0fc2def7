#include "runtime/compute/relabel.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/compute/loop_nest.h"
#include "runtime/compute/parallel.h"
#include "runtime/memory/dtypes.h"

namespace mtfc {
namespace {

// If the order of reading crosses the order of writing, both go through blocks that stay in the cache. A
// block has few enough rows on either side that strides of powers of two, whose rows compete for the same
// cache sets, do not evict them.
constexpr int64_t kBlock = 32;       // along the operand's elements
constexpr int64_t kWriteBlock = 16;  // along the result's

struct TransposePlan {
  LoopNest outer;          // all other loops, over operand and result
  int64_t read = 0;        // extent of the loop along which the operand is contiguous ...
  int64_t read_step = 0;   // ... and the stride of the result there
  int64_t write = 0;       // extent of the loop along which the result is contiguous ...
  int64_t write_step = 0;  // ... and the stride of the operand there
};

/// The loop along which the operand is contiguous, unless that is the innermost.
std::optional<size_t> crossing_loop(const LoopNest& nest) {
  if (nest.loops() < 2 || nest.count() == 0 || nest.strides[0].back() <= 1) return std::nullopt;
  for (size_t loop = 0; loop + 1 < nest.loops(); ++loop)
    if (nest.strides[0][loop] == 1) return loop;
  return std::nullopt;
}

TransposePlan plan_transpose(const LoopNest& nest, size_t across) {
  TransposePlan plan;
  plan.read = nest.extents[across];
  plan.read_step = nest.strides[1][across];
  plan.write = nest.extents.back();
  plan.write_step = nest.strides[0].back();
  plan.outer.strides.resize(2);
  for (size_t loop = 0; loop + 1 < nest.loops(); ++loop) {
    if (loop == across) continue;
    plan.outer.extents.push_back(nest.extents[loop]);
    for (size_t t = 0; t < 2; ++t) plan.outer.strides[t].push_back(nest.strides[t][loop]);
  }
  return plan;
}

// Transposes four by four elements of four bytes in registers.
using Vector = uint32_t __attribute__((vector_size(16)));
constexpr int64_t kVector = 4;

void transpose_square(const uint32_t* from, int64_t from_step, uint32_t* to, int64_t to_step) {
  Vector rows[kVector];
  for (int64_t j = 0; j < kVector; ++j) std::memcpy(&rows[j], from + j * from_step, sizeof(Vector));
  const Vector a = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
  const Vector b = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
  const Vector c = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
  const Vector d = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  const Vector columns[kVector] = {
      __builtin_shufflevector(a, b, 0, 1, 4, 5), __builtin_shufflevector(a, b, 2, 3, 6, 7),
      __builtin_shufflevector(c, d, 0, 1, 4, 5), __builtin_shufflevector(c, d, 2, 3, 6, 7)};
  for (int64_t i = 0; i < kVector; ++i) std::memcpy(to + i * to_step, &columns[i], sizeof(Vector));
}

/// to[i, j] = from[j, i] for i in `rows` and j in `columns`.
template <typename T>
void transpose_block(const TransposePlan& plan, const T* from, T* to, const Interval& rows,
                     const Interval& columns) {
  const auto [first, last] = columns;
  const int64_t end = rows.end;
  int64_t i = rows.begin;
  if constexpr (sizeof(T) == sizeof(uint32_t)) {
    const auto words = reinterpret_cast<const uint32_t*>(from);
    const auto target = reinterpret_cast<uint32_t*>(to);
    const int64_t whole = first + (last - first) / kVector * kVector;
    for (; i + kVector <= end; i += kVector) {
      for (int64_t j = first; j < whole; j += kVector)
        transpose_square(words + j * plan.write_step + i, plan.write_step, target + i * plan.read_step + j,
                         plan.read_step);
      for (int64_t row = i; row < i + kVector; ++row)
        for (int64_t j = whole; j < last; ++j) to[row * plan.read_step + j] = from[j * plan.write_step + row];
    }
  }
  for (; i < end; ++i)
    for (int64_t j = first; j < last; ++j) to[i * plan.read_step + j] = from[j * plan.write_step + i];
}

template <typename T>
void transpose_strip(const TransposePlan& plan, const T* from, T* to, int64_t begin, int64_t end) {
  for (int64_t first = 0; first < plan.write; first += kWriteBlock)
    transpose_block(plan, from, to, {begin, end}, {first, std::min(plan.write, first + kWriteBlock)});
}

template <typename T>
Kernel transposing(const TransposePlan& plan) {
  return [plan](const KernelRun& run) -> int64_t {
    const T* from = reinterpret_cast<const T*>(run.operands[0]);
    T* to = reinterpret_cast<T*>(run.results[0]);
    const int64_t strips = (plan.read + kBlock - 1) / kBlock, count = plan.outer.count() * strips;
    parallel_ranges(count, count * kBlock * plan.write, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        const NestCursor at(plan.outer, plan.outer.loops(), item / strips);
        const int64_t first = item % strips * kBlock;
        transpose_strip(plan, from + at.offset(0), to + at.offset(1), first,
                        std::min(plan.read, first + kBlock));
      }
    });
    return 0;
  };
}

/// Copies row by row, with gaps between the rows of the result.
template <typename From, typename To>
Kernel spreading_rows(const LoopNest& nest) {
  return [nest](const KernelRun& run) -> int64_t {
    const From* from = reinterpret_cast<const From*>(run.operands[0]);
    To* to = reinterpret_cast<To*>(run.results[0]);
    const size_t outer = nest.loops() == 0 ? 0 : nest.loops() - 1;
    const int64_t length = nest.loops() == 0 ? 1 : nest.extents[outer];
    const int64_t read = nest.loops() == 0 ? 0 : nest.strides[0][outer];
    const int64_t write = nest.loops() == 0 ? 0 : nest.strides[1][outer];
    if (length == 0) return 0;
    parallel_ranges(nest.count() / length, nest.count(), [&](int64_t begin, int64_t end) {
      if (begin >= end) return;
      NestCursor row(nest, outer, begin);
      for (int64_t i = begin; i < end; ++i, row.next())
        for (int64_t j = 0; j < length; ++j)
          assign(to[row.offset(1) + j * write], from[row.offset(0) + j * read]);
    });
    return 0;
  };
}

}  // namespace

Kernel prepare_relabel(const KernelSite& site) {
  const int64_t size = size_of(site.results[0].type.dtype);
  const int64_t bytes = site.results[0].elements() * size;
  check_invariant(site.operands[0].elements() * size == bytes,
                  "a relabelling changes the number of elements");
  return [bytes](const KernelRun& run) -> int64_t {
    if (run.results[0] == run.operands[0]) return 0;
    parallel_ranges(bytes, bytes / 8, [&](int64_t begin, int64_t end) {
      if (end > begin)
        std::memcpy(run.results[0] + begin, run.operands[0] + begin, static_cast<size_t>(end - begin));
    });
    return 0;
  };
}

Kernel prepare_spread(const LocalTensor& operand, const LocalTensor& result) {
  const LoopNest nest =
      collapse({result.extents(),
                {aligned_strides(operand, result.type.dims), aligned_strides(result, result.type.dims)}});
  const bool rounds = operand.type.dtype == DType::kF32 && result.type.dtype == DType::kBF16;
  check_invariant(operand.type.dtype == result.type.dtype || (rounds && result.is_view()),
                  "a copy changes the dtype");
  if (rounds) return spreading_rows<float, Bf16>(nest);
  if (result.is_view())
    return dispatch(AllTypes{}, result.type.dtype,
                    [&]<typename T>() -> Kernel { return spreading_rows<T, T>(nest); });
  if (const auto across = crossing_loop(nest))
    return dispatch(AllTypes{}, result.type.dtype,
                    [&]<typename T>() -> Kernel { return transposing<T>(plan_transpose(nest, *across)); });
  const LoopNest read = {nest.extents, {nest.strides[0]}};
  return [read, copy = nest_copy(result.type.dtype), elements = result.elements(),
          size = size_of(result.type.dtype)](const KernelRun& run) -> int64_t {
    parallel_ranges(elements, elements, [&](int64_t begin, int64_t end) {
      copy(read, begin, end - begin, run.operands[0], run.results[0] + begin * size);
    });
    return 0;
  };
}

Kernel prepare_spread(const KernelSite& site) {
  return prepare_spread(site.operands[0], site.results[0]);
}

}  // namespace mtfc
