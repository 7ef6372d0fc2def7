#include "runtime/compute/kernel.h"

namespace mtfc {

extern const KernelDef k_reduce_min_kernel = {
    .reduction = Reduction::kMin,
};

}  // namespace mtfc
