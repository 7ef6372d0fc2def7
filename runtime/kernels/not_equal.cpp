#include "runtime/compute/elementwise.h"

namespace mtfc {

extern const KernelDef k_not_equal_kernel = {
    .tile =
        [](const TileTypes& types) {
          return binary_tile(types, AllTypes{}, [](auto a, auto b) { return a != b; });
        },
};

}  // namespace mtfc
