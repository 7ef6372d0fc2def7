#include "runtime/compute/random.h"

namespace mtfc::random_truncated_normal_kernel {

extern const KernelDef kKernel = {
    .prepare = [](const KernelSite& site) { return prepare_random(site, Distribution::kTruncatedNormal); },
};

}  // namespace mtfc::random_truncated_normal_kernel
