#include <cmath>

#include "runtime/elementwise.h"

namespace mtfc {

extern const KernelDef k_round_kernel = {
    .prepare =
        [](const KernelSite& site) {
          return unary_kernel(site, Floats{}, [](auto x) { return std::nearbyint(x); });
        },
};

}  // namespace mtfc
