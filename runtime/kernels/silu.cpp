#include <cmath>

#include "runtime/elementwise.h"

namespace mtfc {

extern const KernelDef k_silu_kernel = {
    .prepare =
        [](const KernelSite& site) {
          return unary_kernel(site, Floats{}, [](auto x) { return x / (1 + std::exp(-x)); });
        },
};

}  // namespace mtfc
