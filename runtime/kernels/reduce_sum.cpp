#include "runtime/compute/kernel.h"

namespace mtfc::reduce_sum_kernel {

extern const KernelDef kKernel = {
    .reduction = Reduction::kSum,
};

}  // namespace mtfc::reduce_sum_kernel
