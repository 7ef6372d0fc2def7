#include "runtime/compute/elementwise.h"

namespace mtfc::div_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return binary_tile(types, Floats{}, [](auto a, auto b) { return a / b; });
        },
};

}  // namespace mtfc::div_kernel
