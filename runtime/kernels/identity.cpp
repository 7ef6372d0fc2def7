#include "runtime/compute/relabel.h"

namespace mtfc::identity_kernel {

extern const KernelDef kKernel = {
    .prepare = prepare_relabel,
};

}  // namespace mtfc::identity_kernel
