#include "runtime/compute/kernel.h"

namespace mtfc {

extern const KernelDef k_reduce_all_kernel = {
    .reduction = Reduction::kMin,
};

}  // namespace mtfc
