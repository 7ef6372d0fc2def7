#include "runtime/compute/move_pieces.h"

namespace mtfc::pad_kernel {

extern const KernelDef kKernel = {
    .prepare = [](const KernelSite& site) { return prepare_pieces("pad", site); },
};

}  // namespace mtfc::pad_kernel
