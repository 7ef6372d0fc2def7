#include "runtime/compute/elementwise.h"

namespace mtfc::sign_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Numbers{},
                            []<typename T>(T x) { return x != x ? x : static_cast<T>((x > 0) - (x < 0)); });
        },
};

}  // namespace mtfc::sign_kernel
