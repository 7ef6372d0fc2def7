#include "runtime/elementwise.h"
#include "runtime/wrapping.h"

namespace mtfc {

extern const KernelDef k_neg_kernel = {
    .prepare =
        [](const KernelSite& site) {
          return unary_kernel(site, Numbers{}, [](auto x) { return sub_wrapping(decltype(x){}, x); });
        },
};

}  // namespace mtfc
