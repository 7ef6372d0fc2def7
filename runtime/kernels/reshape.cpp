#include "runtime/compute/relabel.h"

namespace mtfc::reshape_kernel {

extern const KernelDef kKernel = {
    .prepare = prepare_relabel,
};

}  // namespace mtfc::reshape_kernel
