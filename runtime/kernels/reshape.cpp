#include "runtime/compute/relabel.h"

namespace mtfc {

extern const KernelDef k_reshape_kernel = {
    .prepare = prepare_relabel,
};

}  // namespace mtfc
