#include "runtime/compute/kernel.h"

namespace mtfc::reduce_min_kernel {

extern const KernelDef kKernel = {
    .reduction = Reduction::kMin,
};

}  // namespace mtfc::reduce_min_kernel
