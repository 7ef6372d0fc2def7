#include "runtime/compute/floor_division.h"

namespace mtfc::mod_kernel {

extern const KernelDef kKernel = {
    .prepare =
        [](const KernelSite& site) {
          return floor_division_kernel(site, [](auto a, auto b) { return floor_remainder(a, b); });
        },
};

}  // namespace mtfc::mod_kernel
