#include "runtime/compute/elementwise.h"
#include "runtime/compute/wrapping.h"

namespace mtfc {

extern const KernelDef k_mul_kernel = {
    .tile =
        [](const TileTypes& types) {
          return binary_tile(types, Numbers{}, [](auto a, auto b) { return mul_wrapping(a, b); });
        },
};

}  // namespace mtfc
