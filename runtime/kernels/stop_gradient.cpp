#include "runtime/compute/relabel.h"

namespace mtfc::stop_gradient_kernel {

extern const KernelDef kKernel = {
    .prepare = prepare_relabel,
};

}  // namespace mtfc::stop_gradient_kernel
