#include "runtime/compute/elementwise.h"

namespace mtfc::or_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return binary_tile(types, Types<bool>{}, [](bool a, bool b) { return a || b; });
        },
};

}  // namespace mtfc::or_kernel
