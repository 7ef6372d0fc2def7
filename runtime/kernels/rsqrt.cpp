#include <cmath>

#include "runtime/elementwise.h"

namespace mtfc {

extern const KernelDef k_rsqrt_kernel = {
    .prepare =
        [](const KernelSite& site) {
          return unary_kernel(site, Floats{}, [](auto x) { return 1 / std::sqrt(x); });
        },
};

}  // namespace mtfc
