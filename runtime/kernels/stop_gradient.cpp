#include "runtime/compute/relabel.h"

namespace mtfc {

extern const KernelDef k_stop_gradient_kernel = {
    .prepare = prepare_relabel,
};

}  // namespace mtfc
