#include <cstring>

#include "runtime/compute/index_check.h"

namespace mtfc::checked_index_kernel {

extern const KernelDef kKernel = {
    .prepare = [](const KernelSite& site) -> Kernel {
      const IndexCheck check{site.attributes.get<Dim>("dim"), site.operands[0]};
      const auto bytes =
          static_cast<size_t>(site.operands[0].elements() * size_of(site.operands[0].type.dtype));
      return [check, bytes](const KernelRun& run) -> int64_t {
        check.run(run.operands[0]);
        if (run.results[0] != run.operands[0]) std::memcpy(run.results[0], run.operands[0], bytes);
        return 0;
      };
    },
};

}  // namespace mtfc::checked_index_kernel
