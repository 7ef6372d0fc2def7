#include <cmath>

#include "runtime/elementwise.h"

namespace mtfc {

extern const KernelDef k_floor_kernel = {
    .prepare =
        [](const KernelSite& site) {
          return unary_kernel(site, Floats{}, [](auto x) { return std::floor(x); });
        },
};

}  // namespace mtfc
