#include "runtime/compute/reduction.h"

#include <algorithm>

#include "runtime/compute/loop_nest.h"
#include "runtime/compute/parallel.h"
#include "runtime/compute/reduction_kinds.h"
#include "runtime/memory/dtypes.h"

namespace mtfc {
namespace {

constexpr int64_t kColumns = 256;      // results that are added up side by side
constexpr int64_t kLanes = 8;          // independent accumulators along one row
constexpr int64_t kPieces = 16;        // pieces of a long reduction to few results
constexpr int64_t kPieceWork = 65536;  // elements from which a reduction counts as long

struct ReductionPlan {
  LoopNest kept;        // loops of the result over operand and result, without the column loop
  LoopNest reduced;     // loops over the operand
  int64_t results = 0;  // iterations of `kept`
  int64_t count = 0;    // iterations of `reduced`
  // The extent of the operand's innermost loop if that is kept, otherwise 1.
  int64_t columns = 1;
  int64_t column_stride = 1;  // in the result
  double divisor = 1;         // the element count for a mean
};

/// Combines `count` elements at distance `stride`.
template <typename R, typename T>
typename R::Accumulator reduce_run(const T* x, int64_t stride, int64_t count, typename R::Accumulator start) {
  using A = typename R::Accumulator;
  if (stride != 1 || count < 2 * kLanes) {
    for (int64_t i = 0; i < count; ++i) start = R::combine(start, R::take(x[i * stride]));
    return start;
  }
  A lanes[kLanes];
  for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = R::take(x[lane]);
  int64_t i = kLanes;
  for (; i + kLanes <= count; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = R::combine(lanes[lane], R::take(x[i + lane]));
  for (; i < count; ++i) start = R::combine(start, R::take(x[i]));
  for (int64_t lane = 0; lane < kLanes; ++lane) start = R::combine(start, lanes[lane]);
  return start;
}

/// Combines elements [begin, end) of the reduced loops.
template <typename R, typename T>
typename R::Accumulator reduce_range(const LoopNest& nest, int64_t begin, int64_t end, const T* x) {
  auto result = R::identity();
  if (begin >= end) return result;
  if (nest.loops() == 0) return R::combine(result, R::take(*x));
  const size_t inner = nest.loops() - 1;
  const int64_t length = nest.extents[inner], stride = nest.strides[0][inner];
  int64_t column = begin % length, left = end - begin;
  for (NestCursor row(nest, inner, begin / length); left > 0; row.next(), column = 0) {
    const int64_t run = std::min(length - column, left);
    result = reduce_run<R>(x + row.offset(0) + column * stride, stride, run, result);
    left -= run;
  }
  return result;
}

/// Computes each result by itself: the reduced loops include the operand's innermost one.
template <typename R, typename T, typename Y>
void reduce_rows(const ReductionPlan& plan, const T* x, Y* y) {
  using A = typename R::Accumulator;
  parallel_ranges(plan.results, plan.results * plan.count, [&](int64_t begin, int64_t end) {
    if (begin >= end) return;
    NestCursor at(plan.kept, plan.kept.loops(), begin);
    for (int64_t i = begin; i < end; ++i, at.next())
      y[at.offset(1)] =
          finish<A, Y>(reduce_range<R>(plan.reduced, 0, plan.count, x + at.offset(0)), plan.divisor);
  });
}

/// The same with the elements of each result cut into pieces, whose results are combined in order.
template <typename R, typename T, typename Y>
void reduce_pieces(const ReductionPlan& plan, const T* x, Y* y) {
  using A = typename R::Accumulator;
  A pieces[kPieces];
  NestCursor at(plan.kept, plan.kept.loops(), 0);
  for (int64_t i = 0; i < plan.results; ++i, at.next()) {
    parallel_ranges(kPieces, plan.count, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece)
        pieces[piece] = reduce_range<R>(
            plan.reduced, plan.count / kPieces * piece,
            piece + 1 == kPieces ? plan.count : plan.count / kPieces * (piece + 1), x + at.offset(0));
    });
    A sum = R::identity();
    for (const A piece : pieces) sum = R::combine(sum, piece);
    y[at.offset(1)] = finish<A, Y>(sum, plan.divisor);
  }
}

/// Computes neighbouring results together: the operand's innermost loop is kept.
template <typename R, typename T, typename Y>
void reduce_columns(const ReductionPlan& plan, const T* x, Y* y) {
  using A = typename R::Accumulator;
  const int64_t tiles = (plan.columns + kColumns - 1) / kColumns;
  parallel_ranges(
      plan.results * tiles, plan.results * plan.columns * plan.count, [&](int64_t begin, int64_t end) {
        A sums[kColumns];
        for (int64_t item = begin; item < end; ++item) {
          const NestCursor at(plan.kept, plan.kept.loops(), item / tiles);
          const int64_t first = item % tiles * kColumns, width = std::min(kColumns, plan.columns - first);
          std::fill_n(sums, width, R::identity());
          const T* from = x + at.offset(0) + first;
          if (plan.count > 0) {
            NestCursor row(plan.reduced, plan.reduced.loops(), 0);
            for (int64_t i = 0; i < plan.count; ++i, row.next())
              for (int64_t j = 0; j < width; ++j)
                sums[j] = R::combine(sums[j], R::take(from[row.offset(0) + j]));
          }
          Y* to = y + at.offset(1) + first * plan.column_stride;
          for (int64_t j = 0; j < width; ++j)
            to[j * plan.column_stride] = finish<A, Y>(sums[j], plan.divisor);
        }
      });
}

ReductionPlan plan_reduction(const LocalTensor& operand, const LocalTensor& result, Reduction reduction) {
  ReductionPlan plan;
  const Dims over = without(operand.type.dims, result.type.dims);
  plan.kept =
      collapse({result.extents(),
                {aligned_strides(operand, result.type.dims), aligned_strides(result, result.type.dims)}});
  LoopNest reduced{{}, {aligned_strides(operand, over)}};
  for (const Dim& dim : over) reduced.extents.push_back(local_extent(operand, dim.name));
  plan.reduced = collapse(reduced);
  if (reduction == Reduction::kMean) plan.divisor = static_cast<double>(elements(over));
  // In a reduction of an empty tensor every result is the identity, whatever the strides.
  const auto& strides = plan.kept.strides[0];
  const auto unit = std::find(strides.begin(), strides.end(), 1) - strides.begin();
  if (unit < static_cast<int64_t>(strides.size()) && plan.kept.count() > 0) {
    plan.columns = plan.kept.extents[static_cast<size_t>(unit)];
    plan.column_stride = plan.kept.strides[1][static_cast<size_t>(unit)];
    plan.kept.extents.erase(plan.kept.extents.begin() + unit);
    for (auto& walked : plan.kept.strides) walked.erase(walked.begin() + unit);
  }
  plan.results = plan.kept.count();
  plan.count = plan.reduced.count();
  return plan;
}

template <typename R, typename T, typename Y = T>
Kernel kernel_of(const ReductionPlan& plan, int64_t flops) {
  return [plan, flops](const KernelRun& run) {
    const T* x = reinterpret_cast<const T*>(run.operands[0]);
    Y* y = reinterpret_cast<Y*>(run.results[0]);
    if (plan.results == 0) return flops;
    if (plan.columns > 1)
      reduce_columns<R>(plan, x, y);
    else if (plan.results < kPieces && plan.count >= kPieceWork)
      reduce_pieces<R>(plan, x, y);
    else
      reduce_rows<R>(plan, x, y);
    return flops;
  };
}

}  // namespace

Kernel prepare_reduction(const LocalTensor& operand, const LocalTensor& result, Reduction reduction) {
  const ReductionPlan plan = plan_reduction(operand, result, reduction);
  return dispatch(ModelTypes{}, operand.type.dtype, [&]<typename T>() -> Kernel {
    if (reduction == Reduction::kMax) return kernel_of<Max<T>, T>(plan, operand.elements());
    if (reduction == Reduction::kMin) return kernel_of<Min<T>, T>(plan, operand.elements());
    if constexpr (!std::is_same_v<T, bool>) {
      if (reduction == Reduction::kProd) return kernel_of<Prod<T>, T>(plan, operand.elements());
      return kernel_of<Sum<T>, T>(plan, operand.elements());
    }
    throw InternalError("bool is not summed or multiplied");
  });
}

Kernel prepare_wide_sum(const LocalTensor& operand, const LocalTensor& result) {
  return kernel_of<Sum<Bf16>, Bf16, float>(plan_reduction(operand, result, Reduction::kSum),
                                           operand.elements());
}

Kernel prepare_reduction(const KernelSite& site, Reduction reduction) {
  return prepare_reduction(site.operands[0], site.results[0], reduction);
}

}  // namespace mtfc
