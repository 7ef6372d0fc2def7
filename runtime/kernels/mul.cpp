#include "runtime/elementwise.h"
#include "runtime/wrapping.h"

namespace mtfc {

extern const KernelDef k_mul_kernel = {
    .prepare =
        [](const KernelSite& site) {
          return binary_kernel(site, Numbers{}, [](auto a, auto b) { return mul_wrapping(a, b); });
        },
};

}  // namespace mtfc
