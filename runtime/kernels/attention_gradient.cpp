#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "runtime/compute/attention_backward.h"
#include "runtime/compute/attention_terms.h"
#include "runtime/compute/parallel.h"
#include "runtime/compute/prepare_typed.h"

namespace mtfc::attention_gradient_kernel {
namespace {

constexpr int64_t kRows = AttentionPlan::kTileQueries, kColumns = AttentionPlan::kTilePositions;

struct Backward : BackwardPlan {
  VectorPlaces of_q, of_k, of_v;     // of results
  std::vector<int64_t> own_queries;  // their numbers among the rows of of_q, or -1
  Interval own_memory;               // the columns that are the rows of of_k and of_v
};

/// The memory of one thread.
template <typename T>
struct Scratch {
  explicit Scratch(const Backward& w)
      : tile(w), of_q(at(kRows * w.q.width)), of_memory(at(kColumns * std::max(w.k.width, w.v.width))) {}
  static std::vector<T> at(int64_t size) { return std::vector<T>(static_cast<size_t>(size)); }
  BackwardTile<T> tile;
  std::vector<T> of_q, of_memory;
};

/// Adds the product of a tile, transposed, and rows of queries to the rows of a result that belong to the memory.
template <typename T>
void add_to_memory(const VectorPlaces& places, int64_t b, Interval columns, int64_t queries, const T* tile,
                   const RowMatrix<T>& rows, std::vector<T>& copy, T* result) {
  MatrixProduct product{.m = columns.size(),
                        .n = places.width,
                        .k = queries,
                        .a_transposed = true,
                        .a_leading = kColumns,
                        .b_leading = rows.leading};
  if (places.leading > 0) {
    product.c_leading = places.leading;
    product.adds = true;
    return multiply(product, tile, rows.at, result + places.at(b, columns.begin));
  }
  product.c_leading = places.width;
  multiply(product, tile, rows.at, copy.data());
  const T* from = copy.data();
  for (int64_t row = columns.begin; row < columns.end; ++row) {
    T* to = result + places.at(b, row);
    for (int64_t i = 0; i < places.width; ++i) to[i * places.step] += *from++;
  }
}

template <typename T>
void go_back(const Backward& w, const KernelRun& run, int64_t b, Interval rows, Scratch<T>& s) {
  const auto result = [&](size_t i) { return reinterpret_cast<T*>(run.results[i]); };
  s.tile.begin(run, b, rows);
  std::fill(s.of_q.begin(), s.of_q.end(), T{0});
  const Interval seen = w.plan.seen_by(rows);
  for (int64_t begin = seen.begin; begin < seen.end; begin += kColumns) {
    const Interval columns = {begin, std::min(seen.end, begin + kColumns)};
    s.tile.compute(columns);
    s.tile.pass_cap(columns);
    const Interval own = {std::max(columns.begin, w.own_memory.begin),
                          std::min(columns.end, w.own_memory.end)};
    if (own.size() > 0) {
      const int64_t skipped = own.begin - columns.begin;
      const Interval to = {own.begin - w.own_memory.begin, own.end - w.own_memory.begin};
      add_to_memory(w.of_v, b, to, rows.size(), s.tile.weights() + skipped, s.tile.given(), s.of_memory,
                    result(2));
      add_to_memory(w.of_k, b, to, rows.size(), s.tile.gradients() + skipped, s.tile.q(), s.of_memory,
                    result(1));
    }
    multiply({.m = rows.size(),
              .n = w.q.width,
              .k = columns.size(),
              .a_leading = kColumns,
              .b_leading = s.tile.k().leading,
              .c_leading = w.q.width,
              .adds = true},
             s.tile.gradients(), s.tile.k().at, s.of_q.data());
  }
  if (w.plan.scale() != 1)
    for (T& element : s.of_q) element *= static_cast<T>(w.plan.scale());
  for (int64_t row = rows.begin; row < rows.end; ++row)
    if (const int64_t own = w.own_queries[static_cast<size_t>(row)]; own >= 0)
      put_rows(w.of_q, s.of_q.data() + (row - rows.begin) * w.q.width, b, {own, own + 1}, result(0));
}

template <typename T>
Kernel prepare(const KernelSite& site) {
  const BackwardPlan plan(site);
  const AttentionDims& dims = plan.plan.dims();
  const auto w = std::make_shared<const Backward>(Backward{
      plan, plan.plan.of_queries(site.results[0], {dims.inner}),
      plan.plan.of_memory(site.results[1], {dims.inner}), plan.plan.of_memory(site.results[2], {dims.value}),
      plan.plan.queries_in(site.results[0]), plan.plan.memory_in(site.results[1])});
  const std::vector<LocalType> operands = local_types(site.operands), results = local_types(site.results);
  const AttentionSizes counted = attention_gradient_sizes({site.attributes, operands}, results);
  const int64_t flops = 2 * counted.pairs() * (3 * w->q.width + 2 * w->v.width);
  const std::array<int64_t, 2> bytes = {site.results[1].elements() * size_of(site.results[1].type.dtype),
                                        site.results[2].elements() * size_of(site.results[2].type.dtype)};
  const auto scratch =
      std::make_shared<std::vector<Scratch<T>>>(static_cast<size_t>(thread_count()), Scratch<T>(*w));
  return [w, flops, bytes, scratch](const KernelRun& run) {
    // All queries add to the gradients of the memory that they see, so one thread takes all queries of a position of
    // the batch.
    for (const size_t r : {size_t{0}, size_t{1}})
      if (bytes[r] > 0) std::memset(run.results[r + 1], 0, static_cast<size_t>(bytes[r]));
    parallel_ranges(w->plan.batch, flops, [&](int64_t begin, int64_t end) {
      Scratch<T>& own = (*scratch)[static_cast<size_t>(thread_number())];
      for (int64_t b = begin; b < end; ++b)
        for (int64_t row = 0; row < w->plan.queries; row += kRows)
          go_back<T>(*w, run, b, {row, std::min(w->plan.queries, row + kRows)}, own);
    });
    return flops;
  };
}

}  // namespace

extern const KernelDef kKernel = {
    .prepare =
        prepare_typed(WideFloats{}, []<typename T>(const KernelSite& site) { return prepare<T>(site); }),
    .terms = attention_gradient_terms,
};

}  // namespace mtfc::attention_gradient_kernel
