#include "runtime/elementwise.h"

namespace mtfc {

extern const KernelDef k_or_kernel = {
    .prepare =
        [](const KernelSite& site) {
          return binary_kernel(site, Types<bool>{}, [](bool a, bool b) { return a || b; });
        },
};

}  // namespace mtfc
