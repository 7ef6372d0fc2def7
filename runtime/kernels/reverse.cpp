#include "runtime/compute/move_pieces.h"

namespace mtfc::reverse_kernel {

extern const KernelDef kKernel = {
    .prepare = [](const KernelSite& site) { return prepare_pieces("reverse", site); },
};

}  // namespace mtfc::reverse_kernel
