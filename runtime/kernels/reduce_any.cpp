#include "runtime/compute/kernel.h"

namespace mtfc {

extern const KernelDef k_reduce_any_kernel = {
    .reduction = Reduction::kMax,
};

}  // namespace mtfc
