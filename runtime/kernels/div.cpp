#include "runtime/elementwise.h"

namespace mtfc {

extern const KernelDef k_div_kernel = {
    .prepare =
        [](const KernelSite& site) {
          return binary_kernel(site, Floats{}, [](auto a, auto b) { return a / b; });
        },
};

}  // namespace mtfc
