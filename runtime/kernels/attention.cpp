#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "runtime/compute/attention_plan.h"
#include "runtime/compute/attention_rows.h"
#include "runtime/compute/attention_terms.h"
#include "runtime/compute/parallel.h"
#include "runtime/compute/prepare_typed.h"

namespace mtfc::attention_kernel {
namespace {

constexpr size_t kExtras = 3;
constexpr int64_t kRows = AttentionPlan::kTileQueries, kColumns = AttentionPlan::kTilePositions;

struct Forward {
  AttentionPlan plan;
  VectorPlaces q, k, v, result, total;
  int64_t tiles = 0;  // of one position of the batch
};

/// The memory of one thread.
template <typename T>
struct Scratch {
  explicit Scratch(const Forward& f)
      : q(at(kRows * f.q.width)),
        k(at(f.k.leading ? 0 : kColumns * f.k.width)),
        v(at(f.v.leading ? 0 : kColumns * f.v.width)),
        sum(at(kRows * f.v.width)),
        scores(at(kRows * kColumns)),
        dropout(at(f.plan.has_dropout() ? kRows * kColumns : 0)),
        largest(at(kRows)),
        sums(at(kRows)),
        factors(at(kRows)) {}
  static std::vector<T> at(int64_t size) { return std::vector<T>(static_cast<size_t>(size)); }
  std::vector<T> q, k, v, sum, scores, dropout, largest, sums, factors;
};

/// Writes the scores of queries to positions of the memory.
template <typename T>
void score(const RowMatrix<T>& q, int64_t queries, const Rows<T>& k, T* scores) {
  if (queries == 1) return dot_rows(q.at, k, scores);
  multiply({.m = queries,
            .n = k.count,
            .k = k.width,
            .b_transposed = true,
            .a_leading = q.leading,
            .b_leading = k.leading,
            .c_leading = kColumns},
           q.at, k.at, scores);
}

/// Adds the values at positions of the memory to the sums of queries, each times its weight.
template <typename T>
void add_values(const T* weights, int64_t queries, const Rows<T>& v, T* sums) {
  if (queries == 1) return add_weighted_rows(weights, v, sums);
  multiply({.m = queries,
            .n = v.width,
            .k = v.count,
            .a_leading = kColumns,
            .b_leading = v.leading,
            .c_leading = v.width,
            .adds = true},
           weights, v.at, sums);
}

/// The results of the queries `rows` at position b of the batch.
template <typename T>
void attend(const Forward& f, const KernelRun& run, int64_t b, Interval rows, Scratch<T>& s) {
  const auto operand = [&](size_t i) { return reinterpret_cast<const T*>(run.operands[i]); };
  const int64_t width = f.v.width;
  const RowMatrix<T> q = f.plan.scaled_rows(f.q, operand(0), b, rows, s.q.data());
  std::fill(s.sum.begin(), s.sum.end(), T{0});
  std::fill(s.sums.begin(), s.sums.end(), T{0});
  std::fill(s.largest.begin(), s.largest.end(), -std::numeric_limits<T>::infinity());
  const Interval seen = f.plan.seen_by(run, b, rows);
  for (int64_t begin = seen.begin; begin < seen.end; begin += kColumns) {
    const Interval columns = {begin, std::min(seen.end, begin + kColumns)};
    const RowMatrix<T> k = rows_of(f.k, operand(1), b, columns, s.k.data());
    score(q, rows.size(), Rows<T>{k.at, k.leading, columns.size(), f.q.width}, s.scores.data());
    const ScoreTile<T> tile = {s.scores.data(), kColumns, rows.size(), columns.size()};
    if (f.plan.cap() > 0) cap_scores<T>(tile, static_cast<T>(f.plan.cap()), nullptr);
    f.plan.finish_scores(run, b, rows, columns, s.scores.data());
    add_exponentials<T>(tile, {s.largest.data(), s.sums.data(), s.factors.data()});
    if (f.plan.has_dropout()) {
      f.plan.fill_dropout(run, b, rows, columns, s.dropout.data());
      multiply_elements(tile, s.dropout.data());
    }
    if (begin > seen.begin)
      for (int64_t r = 0; r < rows.size(); ++r)
        for (int64_t i = 0; i < width; ++i)
          s.sum[static_cast<size_t>(r * width + i)] *= s.factors[static_cast<size_t>(r)];
    const RowMatrix<T> v = rows_of(f.v, operand(2), b, columns, s.v.data());
    add_values(s.scores.data(), rows.size(), Rows<T>{v.at, v.leading, columns.size(), width}, s.sum.data());
  }
  T* const totals = reinterpret_cast<T*>(run.results[1]);
  for (int64_t r = 0; r < rows.size(); ++r) {
    const T sum = s.sums[static_cast<size_t>(r)], scale = sum == 0 ? T{0} : 1 / sum;
    for (int64_t i = 0; i < width; ++i) s.sum[static_cast<size_t>(r * width + i)] *= scale;
    totals[f.total.at(b, rows.begin + r)] = s.largest[static_cast<size_t>(r)] + std::log(sum);
  }
  put_rows(f.result, s.sum.data(), b, rows, reinterpret_cast<T*>(run.results[0]));
}

template <typename T>
Kernel prepare(const KernelSite& site) {
  const AttentionPlan plan(site, kExtras);
  const AttentionDims& dims = plan.dims();
  const auto f = std::make_shared<const Forward>(Forward{
      plan, plan.of_queries(site.operands[0], {dims.inner}), plan.of_memory(site.operands[1], {dims.inner}),
      plan.of_memory(site.operands[2], {dims.value}), plan.of_queries(site.results[0], {dims.value}),
      plan.of_queries(site.results[1], {}), (plan.queries + kRows - 1) / kRows});
  const std::vector<LocalType> operands = local_types(site.operands);
  const AttentionSizes counted = attention_sizes({site.attributes, operands});
  const int64_t flops = 2 * counted.pairs() * (f->q.width + f->v.width);
  const auto scratch =
      std::make_shared<std::vector<Scratch<T>>>(static_cast<size_t>(thread_count()), Scratch<T>(*f));
  return [f, flops, scratch](const KernelRun& run) {
    // The tiles of causal attention grow with their number, so each thread takes every n-th of them.
    const int64_t count = f->plan.batch * f->tiles;
    const int64_t threads = std::min<int64_t>(count, static_cast<int64_t>(scratch->size()));
    parallel_ranges(threads, flops, [&](int64_t begin, int64_t end) {
      for (int64_t first = begin; first < end; ++first)
        for (int64_t i = first; i < count; i += threads) {
          const int64_t row = i % f->tiles * kRows;
          attend<T>(*f, run, i / f->tiles, {row, std::min(f->plan.queries, row + kRows)},
                    (*scratch)[static_cast<size_t>(begin)]);
        }
    });
    return flops;
  };
}

}  // namespace

extern const KernelDef kKernel = {
    .prepare =
        prepare_typed(WideFloats{}, []<typename T>(const KernelSite& site) { return prepare<T>(site); }),
    .terms = attention_terms,
};

}  // namespace mtfc::attention_kernel
