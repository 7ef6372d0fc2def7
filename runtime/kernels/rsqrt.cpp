#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc {

extern const KernelDef k_rsqrt_kernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Floats{}, [](auto x) { return 1 / std::sqrt(x); });
        },
};

}  // namespace mtfc
