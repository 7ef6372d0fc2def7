#include "runtime/compute/relabel.h"

namespace mtfc::transpose_kernel {

extern const KernelDef kKernel = {
    .prepare = prepare_spread,
};

}  // namespace mtfc::transpose_kernel
