#include "runtime/compute/elementwise.h"

namespace mtfc::equal_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return binary_tile(types, ModelTypes{}, [](auto a, auto b) { return a == b; });
        },
};

}  // namespace mtfc::equal_kernel
