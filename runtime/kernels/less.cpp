#include "runtime/elementwise.h"

namespace mtfc {

extern const KernelDef k_less_kernel = {
    .prepare =
        [](const KernelSite& site) {
          return binary_kernel(site, Numbers{}, [](auto a, auto b) { return a < b; });
        },
};

}  // namespace mtfc
