#include "runtime/compute/elementwise.h"

namespace mtfc::relu_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Numbers{}, [](auto x) { return x <= 0 ? decltype(x){} : x; });
        },
};

}  // namespace mtfc::relu_kernel
