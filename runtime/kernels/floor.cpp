#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::floor_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Floats{}, [](auto x) { return std::floor(x); });
        },
};

}  // namespace mtfc::floor_kernel
