#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::sin_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Floats{}, [](auto x) { return std::sin(x); });
        },
};

}  // namespace mtfc::sin_kernel
