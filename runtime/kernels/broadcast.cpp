#include "runtime/compute/relabel.h"

namespace mtfc::broadcast_kernel {

extern const KernelDef kKernel = {
    .prepare = prepare_spread,
};

}  // namespace mtfc::broadcast_kernel
