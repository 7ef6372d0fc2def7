#include "runtime/compute/elementwise.h"

namespace mtfc {

extern const KernelDef k_not_kernel = {
    .tile =
        [](const TileTypes& types) { return unary_tile(types, Types<bool>{}, [](bool x) { return !x; }); },
};

}  // namespace mtfc
