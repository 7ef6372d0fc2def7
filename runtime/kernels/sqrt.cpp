#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::sqrt_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Floats{}, [](auto x) { return std::sqrt(x); });
        },
};

}  // namespace mtfc::sqrt_kernel
