#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc {

extern const KernelDef k_ceil_kernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Floats{}, [](auto x) { return std::ceil(x); });
        },
};

}  // namespace mtfc
