#include "runtime/compute/elementwise.h"

namespace mtfc::greater_equal_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return binary_tile(types, Numbers{}, [](auto a, auto b) { return a >= b; });
        },
};

}  // namespace mtfc::greater_equal_kernel
