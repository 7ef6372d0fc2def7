#include "runtime/elementwise.h"

namespace mtfc {

extern const KernelDef k_not_kernel = {
    .prepare =
        [](const KernelSite& site) { return unary_kernel(site, Types<bool>{}, [](bool x) { return !x; }); },
};

}  // namespace mtfc
