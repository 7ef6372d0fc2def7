#include "runtime/compute/elementwise.h"

namespace mtfc {

extern const KernelDef k_div_kernel = {
    .tile =
        [](const TileTypes& types) {
          return binary_tile(types, Floats{}, [](auto a, auto b) { return a / b; });
        },
};

}  // namespace mtfc
