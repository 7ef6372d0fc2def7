#include "runtime/compute/elementwise.h"
#include "runtime/compute/wrapping.h"

namespace mtfc::square_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Numbers{}, [](auto x) { return mul_wrapping(x, x); });
        },
};

}  // namespace mtfc::square_kernel
