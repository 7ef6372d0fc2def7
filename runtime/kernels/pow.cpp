#include <cmath>

#include "runtime/elementwise.h"

namespace mtfc {

extern const KernelDef k_pow_kernel = {
    .prepare =
        [](const KernelSite& site) {
          return binary_kernel(site, Floats{}, [](auto a, auto b) { return std::pow(a, b); });
        },
};

}  // namespace mtfc
