#include "runtime/compute/elementwise.h"

namespace mtfc {

extern const KernelDef k_relu_kernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Numbers{}, [](auto x) { return x <= 0 ? decltype(x){} : x; });
        },
};

}  // namespace mtfc
