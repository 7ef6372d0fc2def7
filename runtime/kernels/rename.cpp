#include "runtime/compute/relabel.h"

namespace mtfc {

extern const KernelDef k_rename_kernel = {
    .prepare = prepare_relabel,
};

}  // namespace mtfc
