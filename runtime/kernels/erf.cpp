#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::erf_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Floats{}, [](auto x) { return std::erf(x); });
        },
};

}  // namespace mtfc::erf_kernel
