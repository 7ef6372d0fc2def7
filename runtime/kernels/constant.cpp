#include "runtime/compute/kernel.h"
#include "runtime/memory/dtypes.h"

namespace mtfc::constant_kernel {

extern const KernelDef kKernel = {
    .prepare =
        [](const KernelSite& site) {
          const double value = site.attributes.get<double>("value");
          return dispatch(ModelTypes{}, site.results[0].type.dtype, [value]<typename T>() -> Kernel {
            return [value](const KernelRun& run) -> int64_t {
              *reinterpret_cast<T*>(run.results[0]) = static_cast<T>(value);
              return 0;
            };
          });
        },
};

}  // namespace mtfc::constant_kernel
