#include "runtime/compute/elementwise.h"

namespace mtfc::and_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return binary_tile(types, Types<bool>{}, [](bool a, bool b) { return a && b; });
        },
};

}  // namespace mtfc::and_kernel
