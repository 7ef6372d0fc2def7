#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::tanh_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Floats{}, [](auto x) { return std::tanh(x); });
        },
};

}  // namespace mtfc::tanh_kernel
