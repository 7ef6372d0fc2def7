#include "runtime/compute/loop_nest.h"
#include "runtime/compute/parallel.h"
#include "runtime/memory/dtypes.h"

namespace mtfc::argmax_kernel {
namespace {

/// The index of the largest element; the first NaN counts as the largest.
template <typename T>
int64_t index_of_largest(const T* x, int64_t stride, int64_t count) {
  int64_t best = 0;
  for (int64_t i = 0; i < count; ++i) {
    const T value = x[i * stride];
    if (value != value) return i;
    if (value > x[best * stride]) best = i;
  }
  return best;
}

template <typename T>
Kernel prepare(const KernelSite& site, const std::string& over) {
  const LocalTensor& operand = site.operands[0];
  const int64_t stride = aligned_strides(operand, {{over, 0}})[0], count = local_extent(operand, over);
  const Dims& kept = site.results[0].type.dims;
  const LoopNest nest = collapse(
      {site.results[0].extents(), {aligned_strides(operand, kept), aligned_strides(site.results[0], kept)}});
  return [=, results = site.results[0].elements(), flops = operand.elements()](const KernelRun& run) {
    const T* x = reinterpret_cast<const T*>(run.operands[0]);
    auto* y = reinterpret_cast<int32_t*>(run.results[0]);
    parallel_ranges(results, flops, [&](int64_t begin, int64_t end) {
      if (begin >= end) return;
      NestCursor at(nest, nest.loops(), begin);
      for (int64_t i = begin; i < end; ++i, at.next())
        y[at.offset(1)] = static_cast<int32_t>(index_of_largest(x + at.offset(0), stride, count));
    });
    return flops;
  };
}

}  // namespace

extern const KernelDef kKernel = {
    .prepare =
        [](const KernelSite& site) {
          const std::string& over = site.attributes.get<Dims>("over")[0].name;
          return dispatch(WideNumbers{}, site.operands[0].type.dtype,
                          [&]<typename T>() -> Kernel { return prepare<T>(site, over); });
        },
};

}  // namespace mtfc::argmax_kernel
