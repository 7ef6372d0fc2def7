#include "runtime/compute/elementwise.h"

namespace mtfc::reciprocal_kernel {

extern const KernelDef kKernel = {
    .tile = [](const TileTypes& types) { return unary_tile(types, Floats{}, [](auto x) { return 1 / x; }); },
};

}  // namespace mtfc::reciprocal_kernel
