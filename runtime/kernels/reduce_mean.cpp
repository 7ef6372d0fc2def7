#include "runtime/compute/kernel.h"

namespace mtfc {

extern const KernelDef k_reduce_mean_kernel = {
    .reduction = Reduction::kMean,
};

}  // namespace mtfc
