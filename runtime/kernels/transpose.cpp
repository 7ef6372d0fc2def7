#include "runtime/compute/relabel.h"

namespace mtfc {

extern const KernelDef k_transpose_kernel = {
    .prepare = prepare_spread,
};

}  // namespace mtfc
