#include "runtime/compute/elementwise.h"

namespace mtfc {

extern const KernelDef k_reciprocal_kernel = {
    .tile = [](const TileTypes& types) { return unary_tile(types, Floats{}, [](auto x) { return 1 / x; }); },
};

}  // namespace mtfc
