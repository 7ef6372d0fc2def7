#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::rsqrt_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Floats{}, [](auto x) { return 1 / std::sqrt(x); });
        },
};

}  // namespace mtfc::rsqrt_kernel
