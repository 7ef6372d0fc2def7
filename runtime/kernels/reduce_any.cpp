#include "runtime/compute/kernel.h"

namespace mtfc::reduce_any_kernel {

extern const KernelDef kKernel = {
    .reduction = Reduction::kMax,
};

}  // namespace mtfc::reduce_any_kernel
