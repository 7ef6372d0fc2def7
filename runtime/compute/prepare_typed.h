#pragma once
// The `prepare` of kernels that are compiled for each dtype. Their functions are captureless lambdas, templates of the
// elements' types, which return the Kernel for a site.

#include "runtime/compute/kernel.h"
#include "runtime/memory/dtypes.h"

namespace mtfc {

using PrepareKernel = Kernel (*)(const KernelSite&);

/// Calls `function` for the type of the first result, which is one of the list.
template <typename List, typename F>
constexpr PrepareKernel prepare_typed(List, F) {
  return [](const KernelSite& site) {
    return dispatch(List{}, site.results[0].type.dtype,
                    [&]<typename T>() -> Kernel { return F{}.template operator()<T>(site); });
  };
}

/// Calls `function` for that type and for the type of the indices, which are operand `kIndices`.
template <size_t kIndices, typename List, typename F>
constexpr PrepareKernel prepare_with_indices(List, F) {
  return [](const KernelSite& site) {
    return dispatch(List{}, site.results[0].type.dtype, [&]<typename T>() -> Kernel {
      return dispatch(Integers{}, site.operands[kIndices].type.dtype,
                      [&]<typename I>() -> Kernel { return F{}.template operator()<T, I>(site); });
    });
  };
}

}  // namespace mtfc
