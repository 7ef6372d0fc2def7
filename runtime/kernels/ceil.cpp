#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::ceil_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Floats{}, [](auto x) { return std::ceil(x); });
        },
};

}  // namespace mtfc::ceil_kernel
