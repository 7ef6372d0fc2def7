#include <cmath>

#include "runtime/compute/elementwise.h"
#include "runtime/compute/exponential.h"

namespace mtfc {

extern const KernelDef k_softplus_kernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Floats{},
                            [](auto x) { return (x < 0 ? 0 : x) + std::log1p(exponential(-std::abs(x))); });
        },
};

}  // namespace mtfc
