#include "runtime/compute/elementwise.h"

namespace mtfc::not_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) { return unary_tile(types, Types<bool>{}, [](bool x) { return !x; }); },
};

}  // namespace mtfc::not_kernel
