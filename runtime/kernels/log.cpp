#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::log_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Floats{}, [](auto x) { return std::log(x); });
        },
};

}  // namespace mtfc::log_kernel
