#include "runtime/compute/move_pieces.h"

namespace mtfc::slice_kernel {

extern const KernelDef kKernel = {
    .prepare = [](const KernelSite& site) { return prepare_pieces("slice", site); },
};

}  // namespace mtfc::slice_kernel
