#include "runtime/reduction.h"

namespace mtfc {

extern const KernelDef k_reduce_all_kernel = {
    .prepare = [](const KernelSite& site) { return prepare_reduction(site, Reduction::kMin); },
};

}  // namespace mtfc
