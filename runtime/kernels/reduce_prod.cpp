#include "runtime/compute/kernel.h"

namespace mtfc {

extern const KernelDef k_reduce_prod_kernel = {
    .reduction = Reduction::kProd,
};

}  // namespace mtfc
