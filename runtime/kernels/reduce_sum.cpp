#include "runtime/compute/kernel.h"

namespace mtfc {

extern const KernelDef k_reduce_sum_kernel = {
    .reduction = Reduction::kSum,
};

}  // namespace mtfc
