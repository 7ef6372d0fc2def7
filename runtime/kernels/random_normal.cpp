#include "runtime/compute/random.h"

namespace mtfc {

extern const KernelDef k_random_normal_kernel = {
    .prepare = [](const KernelSite& site) { return prepare_random(site, Distribution::kNormal); },
};

}  // namespace mtfc
