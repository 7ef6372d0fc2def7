#include "runtime/compute/random.h"

namespace mtfc {

extern const KernelDef k_random_uniform_kernel = {
    .prepare = [](const KernelSite& site) { return prepare_random(site, Distribution::kUniform); },
};

}  // namespace mtfc
