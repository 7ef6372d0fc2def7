#include <cstring>

#include "runtime/compute/index_check.h"
#include "runtime/compute/parallel.h"
#include "runtime/compute/prepare_typed.h"

namespace mtfc::one_hot_kernel {
namespace {

// The new dimension is the last one, so each index has a row of the result.
template <typename T, typename I>
Kernel prepare(const KernelSite& site) {
  const LocalTensor &indices = site.operands[0], &rows = site.results[0];
  const IndexCheck check = index_check(site, rows.type.dims.back(), indices);
  return [check, held = rows.box.back(), count = indices.elements()](const KernelRun& run) -> int64_t {
    check.run(run.operands[0]);
    const I* index = reinterpret_cast<const I*>(run.operands[0]);
    T* result = reinterpret_cast<T*>(run.results[0]);
    parallel_ranges(count, count * held.size(), [&](int64_t begin, int64_t end) {
      const int64_t elements = (end - begin) * held.size();
      if (elements <= 0) return;
      std::memset(result + begin * held.size(), 0, static_cast<size_t>(elements) * sizeof(T));
      for (int64_t i = begin; i < end; ++i)
        if (index[i] >= held.begin && index[i] < held.end)
          result[i * held.size() + static_cast<int64_t>(index[i]) - held.begin] = T{1};
    });
    return 0;
  };
}

}  // namespace

extern const KernelDef kKernel = {
    .prepare = prepare_with_indices<0>(
        ModelTypes{}, []<typename T, typename I>(const KernelSite& site) { return prepare<T, I>(site); }),
};

}  // namespace mtfc::one_hot_kernel
