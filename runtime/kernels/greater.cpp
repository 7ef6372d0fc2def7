#include "runtime/compute/elementwise.h"

namespace mtfc {

extern const KernelDef k_greater_kernel = {
    .tile =
        [](const TileTypes& types) {
          return binary_tile(types, Numbers{}, [](auto a, auto b) { return a > b; });
        },
};

}  // namespace mtfc
