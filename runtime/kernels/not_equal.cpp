#include "runtime/elementwise.h"

namespace mtfc {

extern const KernelDef k_not_equal_kernel = {
    .prepare =
        [](const KernelSite& site) {
          return binary_kernel(site, AllTypes{}, [](auto a, auto b) { return a != b; });
        },
};

}  // namespace mtfc
