#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::pow_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return binary_tile(types, Floats{}, [](auto a, auto b) { return std::pow(a, b); });
        },
};

}  // namespace mtfc::pow_kernel
