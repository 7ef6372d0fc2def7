#include <cmath>

#include "runtime/elementwise.h"

namespace mtfc {

extern const KernelDef k_softplus_kernel = {
    .prepare =
        [](const KernelSite& site) {
          return unary_kernel(site, Floats{},
                              [](auto x) { return (x < 0 ? 0 : x) + std::log1p(std::exp(-std::abs(x))); });
        },
};

}  // namespace mtfc
