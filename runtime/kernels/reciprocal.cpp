#include "runtime/elementwise.h"

namespace mtfc {

extern const KernelDef k_reciprocal_kernel = {
    .prepare =
        [](const KernelSite& site) { return unary_kernel(site, Floats{}, [](auto x) { return 1 / x; }); },
};

}  // namespace mtfc
