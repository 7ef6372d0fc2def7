#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::round_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Floats{}, [](auto x) { return std::nearbyint(x); });
        },
};

}  // namespace mtfc::round_kernel
