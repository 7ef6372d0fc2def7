#include "runtime/elementwise.h"
#include "runtime/wrapping.h"

namespace mtfc {

extern const KernelDef k_square_kernel = {
    .prepare =
        [](const KernelSite& site) {
          return unary_kernel(site, Numbers{}, [](auto x) { return mul_wrapping(x, x); });
        },
};

}  // namespace mtfc
