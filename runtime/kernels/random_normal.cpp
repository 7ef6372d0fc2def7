#include "runtime/compute/random.h"

namespace mtfc::random_normal_kernel {

extern const KernelDef kKernel = {
    .prepare = [](const KernelSite& site) { return prepare_random(site, Distribution::kNormal); },
};

}  // namespace mtfc::random_normal_kernel
