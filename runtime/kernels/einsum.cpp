#include <algorithm>
#include <cstring>

#include "core/op_rules/einsum_plan.h"
#include "runtime/compute/blas.h"
#include "runtime/compute/elementwise.h"
#include "runtime/compute/filled_rows.h"
#include "runtime/compute/in_f32.h"
#include "runtime/compute/loop_nest.h"
#include "runtime/compute/onednn.h"
#include "runtime/compute/parallel.h"
#include "runtime/compute/reduction.h"
#include "runtime/compute/relabel.h"
#include "runtime/compute/widened_product.h"
#include "runtime/compute/wrapping.h"

namespace mtfc::einsum_kernel {
namespace {

// Products of at most this many multiplications gain nothing from several threads each: threads share the
// batch instead.
constexpr int64_t kSingleThread = int64_t{256} * 256 * 256;
// From this many multiplications, threads take one product after another, since rows of zeros make some much shorter.
constexpr int64_t kLargeItem = 1 << 20;
constexpr int64_t kManyTurns = 8;  // products per thread from which one more or less makes no difference

/// A copy of a shard in the workspace, as a tensor of its own that this device holds whole.
LocalTensor copy_of(DType dtype, const LocalDims& dims) {
  LocalTensor copy{{dtype, {}}, {}};
  for (const LocalDim& dim : dims) {
    copy.type.dims.push_back({dim.name, dim.size});
    copy.box.push_back({0, dim.size});
  }
  return copy;
}

/// Runs `kernel` on one operand and one result during another kernel's run.
void run_part(const Kernel& kernel, const KernelRun& run, const std::byte* operand, std::byte* result) {
  KernelRun part = run;
  part.operands = {&operand, 1};
  part.results = {&result, 1};
  kernel(part);
}

/// A planned contraction of two operands.
struct Contraction {
  EinsumPlan plan;
  MatrixProduct product;
  LoopNest batch;                                     // over a, b and c
  Kernel pack_a, pack_b, unpack;                      // empty if the matrix is used in place
  std::optional<BatchedProduct> by_onednn;            // instead of OpenBLAS
  std::shared_ptr<std::vector<SizedProducts>> sized;  // by oneDNN, without rows of zeros: one for each thread
  Kernel zero;                                        // of the result
  int64_t flops = 0;
  int64_t result_bytes = 0;
};

/// Copies a tensor in another order, from bf16 to f32 or back where the dtypes differ.
Kernel prepare_copy(const LocalTensor& from, const LocalTensor& to) {
  if (from.type.dtype == to.type.dtype || to.is_view()) return prepare_spread(from, to);
  return prepare_elementwise({from}, to, to.type.dtype == DType::kBF16 ? f32_to_bf16() : bf16_to_f32());
}

Kernel packing(const LocalTensor& operand, const EinsumMatrix& matrix) {
  if (!matrix.packed) return {};
  const LocalTensor copy = copy_of(operand.type.dtype, matrix.packed_dims);
  if (matrix.packed_dims.size() == operand.type.dims.size()) return prepare_spread(operand, copy);
  return prepare_reduction(operand, copy, Reduction::kSum);
}

EinsumTensor in_memory(const LocalTensor& tensor) {
  return {tensor.local_type(), tensor.is_view()};
}

/// Fills the result with zeros.
Kernel zeroing(const LocalTensor& result) {
  const LoopNest nest = collapse({result.extents(), {aligned_strides(result, result.type.dims)}});
  return dispatch(Numbers{}, result.type.dtype, [&]<typename T>() -> Kernel {
    return [nest](const KernelRun& run) -> int64_t {
      NestCursor at(nest, nest.loops(), 0);
      for (int64_t i = 0, count = nest.count(); i < count; ++i, at.next())
        reinterpret_cast<T*>(run.results[0])[at.offset(0)] = T{};
      return 0;
    };
  });
}

Contraction plan_contraction(const KernelSite& site, int64_t flops) {
  Contraction c;
  c.plan = plan_einsum(in_memory(site.operands[0]), in_memory(site.operands[1]), in_memory(site.results[0]));
  const EinsumPlan& plan = c.plan;
  check_invariant(plan.workspace_bytes <= site.workspace_bytes, "an einsum was granted too little workspace");
  c.product = {.m = plan.m,
               .n = plan.n,
               .k = plan.k,
               .a_transposed = plan.a.transposed,
               .b_transposed = plan.b.transposed,
               .a_leading = plan.a.leading,
               .b_leading = plan.b.leading,
               .c_leading = plan.c.leading,
               .adds = site.adds};
  for (const LocalDim& dim : plan.batch) c.batch.extents.push_back(dim.size);
  c.batch.strides = {plan.a.batch_strides, plan.b.batch_strides, plan.c.batch_strides};
  c.batch = collapse(c.batch);
  c.pack_a = packing(site.operands[static_cast<size_t>(plan.left)], plan.a);
  c.pack_b = packing(site.operands[static_cast<size_t>(1 - plan.left)], plan.b);
  c.zero = zeroing(site.results[0]);
  if (plan.c.packed) c.unpack = prepare_copy(copy_of(plan.computed, plan.c.packed_dims), site.results[0]);
  const DType dtype = site.operands[0].type.dtype;
  const bool is_f32 = dtype == DType::kF32;
  if ((is_f32 || dtype == DType::kBF16) && site.operands[1].type.dtype == dtype && plan.parts == 1)
    c.by_onednn = BatchedProduct::prepare(
        c.product, c.batch,
        {.operands = dtype, .result = c.unpack ? plan.computed : site.results[0].type.dtype});
  if (c.by_onednn && is_f32)
    c.sized = std::make_shared<std::vector<SizedProducts>>(static_cast<size_t>(thread_count()));
  c.flops = flops;
  c.result_bytes = site.results[0].elements() * size_of(plan.computed);
  return c;
}

/// Returns whether threads share the batch, one product each at a time, rather than every product: always for
/// small products, otherwise if all threads then have the same amount of work, or nearly so.
bool shares_batch(int64_t count, int64_t work) {
  if (work <= kSingleThread) return true;
  const int64_t threads = thread_count();
  return count % threads == 0 || count >= kManyTurns * threads;
}

/// Returns whether to leave rows out of the products of a batch, which oneDNN would otherwise compute in one call.
bool leaves_rows_out(const Contraction& c, const float* a, const float* b) {
  double share = 0;
  const int64_t count = c.batch.count();
  NestCursor at(c.batch, c.batch.loops(), 0);
  for (int64_t i = 0; i < count; ++i, at.next())
    share += share_empty(c.product, a + at.offset(0), b + at.offset(1));
  return share >= kShareWorthSkipping * static_cast<double>(count);
}

/// Rows of floats that are all zero may be left out.
template <typename T, typename U, typename Y>
void multiply_one(const Contraction& c, const T* a, const U* b, Y* to) {
  if constexpr (std::is_same_v<T, Bf16> || !std::is_same_v<T, U>) {
    multiply_widened(c.product, a, b, to);
  } else if constexpr (std::is_floating_point_v<T>) {
    int64_t unit = 1;
    Multiply<T> by = multiply<T>;
    if constexpr (std::is_same_v<T, float>)
      if (c.sized) {
        unit = SizedProducts::kUnit;
        by = [&own = (*c.sized)[static_cast<size_t>(thread_number())]](
                 const MatrixProduct& product, const float* left, const float* right, float* result) {
          own.multiply(product, left, right, result);
        };
      }
    if (share_empty(c.product, a, b) < kShareWorthSkipping) return by(c.product, a, b, to);
    thread_local std::vector<T> copies;
    multiply_filled<T>(c.product, a, b, to, unit, by, copies);
  } else {
    multiply(c.product, a, b, to);
  }
}

template <typename T, typename U, typename Y>
void multiply_batch(const Contraction& c, const T* a, const U* b, Y* result) {
  const int64_t count = c.batch.count(), work = c.plan.m * c.plan.n * c.plan.k;
  const auto some = [&](int64_t begin, int64_t end) {
    if (begin >= end) return;
    NestCursor at(c.batch, c.batch.loops(), begin);
    for (int64_t i = begin; i < end; ++i, at.next())
      multiply_one(c, a + at.offset(0), b + at.offset(1), result + at.offset(2));
  };
  if (count == 1 || !shares_batch(count, work))
    some(0, count);
  else if (work >= kLargeItem)
    parallel_items(count, [&](int64_t i) { some(i, i + 1); });
  else
    parallel_ranges(count, count * work, some);
}

/// Threads share the parts of the contracted group over the whole batch; `products` holds [part, batch, m,
/// n].
template <typename T, typename U, typename Y, typename C>
void multiply_parts(const Contraction& c, const T* a, const U* b, Y* result, C* products) {
  const EinsumPlan& plan = c.plan;
  const int64_t count = c.batch.count(), size = plan.m * plan.n, length = plan.k / plan.parts;
  const int64_t a_step = plan.a.transposed ? plan.a.leading : 1;
  const int64_t b_step = plan.b.transposed ? 1 : plan.b.leading;
  parallel_ranges(plan.parts * count, count * size * plan.k, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const NestCursor at(c.batch, c.batch.loops(), item % count);
      const int64_t part = item / count, first = part * length;
      MatrixProduct product = c.product;
      product.adds = false;
      product.k = part + 1 == plan.parts ? plan.k - first : length;
      product.c_leading = plan.n;
      const T* const left = a + at.offset(0) + first * a_step;
      const U* const right = b + at.offset(1) + first * b_step;
      if constexpr (std::is_same_v<T, Bf16> || !std::is_same_v<T, U>)
        multiply_widened(product, left, right, products + item * size);
      else
        multiply(product, left, right, products + item * size);
    }
  });
  parallel_ranges(count, plan.parts * count * size, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const NestCursor at(c.batch, c.batch.loops(), i);
      for (int64_t element = 0; element < size; ++element) {
        C sum = products[i * size + element];
        for (int64_t part = 1; part < plan.parts; ++part)
          sum = add_wrapping(sum, products[(part * count + i) * size + element]);
        Y& to = result[at.offset(2) + element / plan.n * plan.c.leading + element % plan.n];
        to = static_cast<Y>(c.product.adds ? add_wrapping(static_cast<C>(to), sum) : sum);
      }
    }
  });
}

// T, U: of the left and the right operand; Y: of the sums as they are left.
template <typename T, typename U, typename Y>
void multiply_all(const Contraction& c, const std::byte* a, const std::byte* b, std::byte* result,
                  std::byte* workspace) {
  using C = std::conditional_t<std::is_same_v<T, U>, Computed<T>, float>;
  const auto* const left = reinterpret_cast<const T*>(a);
  const auto* const right = reinterpret_cast<const U*>(b);
  const auto to = reinterpret_cast<Y*>(result);
  if constexpr (std::is_same_v<T, U> && (std::is_same_v<T, float> || std::is_same_v<T, Bf16>)) {
    bool in_one_call = c.by_onednn.has_value();
    if constexpr (std::is_same_v<T, float>) in_one_call = in_one_call && !leaves_rows_out(c, left, right);
    if (in_one_call) return c.by_onednn->run(left, right, to);
  }
  if (c.plan.parts > 1)
    multiply_parts(c, left, right, to, reinterpret_cast<C*>(workspace + c.plan.parts_offset));
  else
    multiply_batch(c, left, right, to);
}

template <typename T, typename U, typename Y>
int64_t run_contraction(const Contraction& c, const KernelRun& run) {
  const EinsumPlan& plan = c.plan;
  if (c.result_bytes == 0) return c.flops;
  if (plan.k == 0) {
    if (c.product.adds) return c.flops;
    if (c.unpack) std::memset(run.workspace + plan.c.offset, 0, static_cast<size_t>(c.result_bytes));
    return c.zero(run), c.flops;
  }
  const std::byte* a = run.operands[static_cast<size_t>(plan.left)];
  const std::byte* b = run.operands[static_cast<size_t>(1 - plan.left)];
  std::byte* result = run.results[0];
  if (c.pack_a) run_part(c.pack_a, run, a, run.workspace + plan.a.offset), a = run.workspace + plan.a.offset;
  if (c.pack_b) run_part(c.pack_b, run, b, run.workspace + plan.b.offset), b = run.workspace + plan.b.offset;
  if (c.unpack) result = run.workspace + plan.c.offset;
  multiply_all<T, U, Y>(c, a, b, result, run.workspace);
  if (c.unpack) run_part(c.unpack, run, result, run.results[0]);
  return c.flops;
}

struct Times {
  template <typename T>
  T operator()(T a, T b) const {
    return mul_wrapping(a, b);
  }
};

// Calls `use` with the type of the operand that is not f32, and whether it is the left one of the two given.
template <typename Use>
auto with_narrow(const LocalTensor& left, const LocalTensor& right, Use use) {
  const bool is_left = left.type.dtype != DType::kF32;
  return dispatch(Types<Bf16, int8_t>{}, (is_left ? left : right).type.dtype,
                  [&]<typename N>() { return use.template operator()<N>(is_left); });
}

// The element-wise product of f32 and a narrower operand.
struct WideTimes {
  template <typename A, typename B>
  float operator()(A a, B b) const {
    return static_cast<float>(a) * static_cast<float>(b);
  }
};

TileFunction times_function(const KernelSite& site) {
  const DType from = site.operands[0].type.dtype, to = site.results[0].type.dtype;
  if (from == DType::kBF16 && to == DType::kF32 && site.operands[1].type.dtype == from)
    return tile_function_to<float, Times, Bf16, Bf16>();
  return dispatch(Numbers{}, to, []<typename T>() -> TileFunction { return tile_function<Times, T, T>(); });
}

// Prepares the product of an f32 operand and a narrower one.
Kernel prepare_mixed(const KernelSite& site, const Contraction& contraction, int64_t flops) {
  if (contraction.plan.multiplies) {
    const TileFunction times =
        with_narrow(site.operands[0], site.operands[1], []<typename N>(bool is_first) -> TileFunction {
          return is_first ? tile_function_to<float, WideTimes, N, float>()
                          : tile_function_to<float, WideTimes, float, N>();
        });
    const Kernel product = prepare_elementwise(site, times);
    return [product, flops](const KernelRun& run) { return product(run), flops; };
  }
  const auto left = static_cast<size_t>(contraction.plan.left);
  return with_narrow(site.operands[left], site.operands[1 - left], [&]<typename N>(bool is_left) -> Kernel {
    if (is_left)
      return
          [contraction](const KernelRun& run) { return run_contraction<N, float, float>(contraction, run); };
    return [contraction](const KernelRun& run) { return run_contraction<float, N, float>(contraction, run); };
  });
}

Kernel prepare_pair(const KernelSite& site, int64_t flops) {
  Contraction contraction = plan_contraction(site, flops);
  if (site.operands[0].type.dtype != site.operands[1].type.dtype)
    return prepare_mixed(site, contraction, flops);
  if (contraction.plan.multiplies) {
    Kernel product = prepare_elementwise(site, times_function(site));
    return [product, flops](const KernelRun& run) { return product(run), flops; };
  }
  return dispatch(Numbers{}, site.operands[0].type.dtype, [&]<typename T>() -> Kernel {
    if (std::is_same_v<T, Bf16> && (contraction.unpack || site.results[0].type.dtype == DType::kF32))
      return [contraction](const KernelRun& run) {
        return run_contraction<T, T, Computed<T>>(contraction, run);
      };
    return [contraction](const KernelRun& run) { return run_contraction<T, T, T>(contraction, run); };
  });
}

/// Any number of operands, element by element, for graphs that no pass has cut into pairs.
template <typename T, typename Y>
Kernel prepare_many(const KernelSite& site, int64_t flops) {
  using C = Computed<T>;
  Dims all;
  std::vector<int64_t> extents;
  for (const LocalTensor& operand : site.operands)
    for (const Dim& dim : without(operand.type.dims, all)) {
      all.push_back(dim);
      extents.push_back(local_extent(operand, dim.name));
    }
  std::vector<std::vector<int64_t>> strides;
  for (const LocalTensor& operand : site.operands) strides.push_back(aligned_strides(operand, all));
  const std::vector<int64_t> to = aligned_strides(site.results[0], all);
  return [=, size = static_cast<size_t>(site.results[0].elements())](const KernelRun& run) {
    std::vector<C> sums(size, C{});
    const LoopNest nest{extents, {to}};
    for (int64_t i = 0, count = nest.count(); i < count; ++i) {
      C product = 1;
      for (size_t o = 0; o < strides.size(); ++o) {
        const NestCursor at({extents, {strides[o]}}, extents.size(), i);
        product =
            mul_wrapping(product, static_cast<C>(reinterpret_cast<const T*>(run.operands[o])[at.offset(0)]));
      }
      C& sum = sums[static_cast<size_t>(NestCursor(nest, extents.size(), i).offset(0))];
      sum = add_wrapping(sum, product);
    }
    std::transform(sums.begin(), sums.end(), reinterpret_cast<Y*>(run.results[0]),
                   [](C sum) { return static_cast<Y>(sum); });
    return flops;
  };
}

bool sums_alone(const KernelSite& site) {
  const Dims &first = site.operands[0].type.dims, &second = site.operands[1].type.dims,
             &result = site.results[0].type.dims;
  return !without(without(first, second), result).empty() || !without(without(second, first), result).empty();
}

Kernel prepare(const KernelSite& site) {
  LocalDims all;
  for (const LocalTensor& operand : site.operands) all = unite(all, operand.local_type().dims);
  const int64_t flops = 2 * elements(all);
  const DType from = site.operands[0].type.dtype, to = site.results[0].type.dtype;
  if (site.operands.size() == 1) {
    const bool turns = site.operands[0].type.dims.size() == site.results[0].type.dims.size();
    const Kernel sum = turns        ? prepare_copy(site.operands[0], site.results[0])
                       : from == to ? prepare_reduction(site, Reduction::kSum)
                                    : prepare_wide_sum(site.operands[0], site.results[0]);
    return [sum, flops](const KernelRun& run) { return sum(run), flops; };
  }
  // A dimension that only one operand has is summed up before products of bf16, which rounds: passes leave none.
  const bool is_mixed = site.operands.size() == 2 && from != site.operands[1].type.dtype;
  if (site.operands.size() == 2 && (is_mixed || !(from == DType::kBF16 && sums_alone(site))))
    return prepare_pair(site, flops);
  if (from != to) return prepare_many<Bf16, float>(site, flops);
  return dispatch(Numbers{}, to, [&]<typename T>() -> Kernel { return prepare_many<T, T>(site, flops); });
}

}  // namespace

extern const KernelDef kKernel = {
    .prepare = prepare,
};

}  // namespace mtfc::einsum_kernel
