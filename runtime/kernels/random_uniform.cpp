#include "runtime/compute/random.h"

namespace mtfc::random_uniform_kernel {

extern const KernelDef kKernel = {
    .prepare = [](const KernelSite& site) { return prepare_random(site, Distribution::kUniform); },
};

}  // namespace mtfc::random_uniform_kernel
