#include "runtime/compute/move_pieces.h"

namespace mtfc::shift_kernel {

extern const KernelDef kKernel = {
    .prepare = [](const KernelSite& site) { return prepare_pieces("shift", site); },
};

}  // namespace mtfc::shift_kernel
