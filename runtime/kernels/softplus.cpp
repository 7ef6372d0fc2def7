#include <cmath>

#include "runtime/compute/elementwise.h"
#include "runtime/compute/exponential.h"

namespace mtfc::softplus_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Floats{},
                            [](auto x) { return (x < 0 ? 0 : x) + std::log1p(exponential(-std::abs(x))); });
        },
};

}  // namespace mtfc::softplus_kernel
