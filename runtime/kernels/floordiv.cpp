#include "runtime/compute/floor_division.h"

namespace mtfc {

extern const KernelDef k_floordiv_kernel = {
    .prepare =
        [](const KernelSite& site) {
          return floor_division_kernel(site, [](auto a, auto b) { return floor_quotient(a, b); });
        },
};

}  // namespace mtfc
