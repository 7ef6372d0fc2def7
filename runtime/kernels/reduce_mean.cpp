#include "runtime/compute/kernel.h"

namespace mtfc::reduce_mean_kernel {

extern const KernelDef kKernel = {
    .reduction = Reduction::kMean,
};

}  // namespace mtfc::reduce_mean_kernel
