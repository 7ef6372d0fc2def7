#include "runtime/compute/move_pieces.h"

namespace mtfc::concat_kernel {

extern const KernelDef kKernel = {
    .prepare = [](const KernelSite& site) { return prepare_pieces("concat", site); },
};

}  // namespace mtfc::concat_kernel
