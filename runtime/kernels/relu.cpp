#include "runtime/elementwise.h"

namespace mtfc {

extern const KernelDef k_relu_kernel = {
    .prepare =
        [](const KernelSite& site) {
          return unary_kernel(site, Numbers{}, [](auto x) { return x <= 0 ? decltype(x){} : x; });
        },
};

}  // namespace mtfc
