#include "runtime/compute/elementwise.h"
#include "runtime/compute/wrapping.h"

namespace mtfc {

extern const KernelDef k_square_kernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Numbers{}, [](auto x) { return mul_wrapping(x, x); });
        },
};

}  // namespace mtfc
