#include "runtime/compute/relabel.h"

namespace mtfc::rename_kernel {

extern const KernelDef kKernel = {
    .prepare = prepare_relabel,
};

}  // namespace mtfc::rename_kernel
