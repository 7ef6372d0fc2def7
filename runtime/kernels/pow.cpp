#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc {

extern const KernelDef k_pow_kernel = {
    .tile =
        [](const TileTypes& types) {
          return binary_tile(types, Floats{}, [](auto a, auto b) { return std::pow(a, b); });
        },
};

}  // namespace mtfc
