#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::cos_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Floats{}, [](auto x) { return std::cos(x); });
        },
};

}  // namespace mtfc::cos_kernel
