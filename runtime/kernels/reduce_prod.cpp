#include "runtime/compute/kernel.h"

namespace mtfc::reduce_prod_kernel {

extern const KernelDef kKernel = {
    .reduction = Reduction::kProd,
};

}  // namespace mtfc::reduce_prod_kernel
