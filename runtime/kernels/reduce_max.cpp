#include "runtime/compute/kernel.h"

namespace mtfc {

extern const KernelDef k_reduce_max_kernel = {
    .reduction = Reduction::kMax,
};

}  // namespace mtfc
