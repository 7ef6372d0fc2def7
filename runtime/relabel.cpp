#include "runtime/relabel.h"

#include <cstring>

#include "runtime/loop_nest.h"
#include "runtime/parallel.h"

namespace mtfc {

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

Kernel prepare_spread(const KernelSite& site) {
  const LocalTensor& result = site.results[0];
  LoopNest nest{result.extents(), {aligned_strides(site.operands[0], result.type.dims)}};
  return [nest = collapse(nest), copy = nest_copy(result.type.dtype), elements = result.elements(),
          size = size_of(result.type.dtype)](const KernelRun& run) -> int64_t {
    parallel_ranges(elements, elements, [&](int64_t begin, int64_t end) {
      copy(nest, begin, end - begin, run.operands[0], run.results[0] + begin * size);
    });
    return 0;
  };
}

}  // namespace mtfc
