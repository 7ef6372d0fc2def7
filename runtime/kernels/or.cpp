#include "runtime/compute/elementwise.h"

namespace mtfc {

extern const KernelDef k_or_kernel = {
    .tile =
        [](const TileTypes& types) {
          return binary_tile(types, Types<bool>{}, [](bool a, bool b) { return a || b; });
        },
};

}  // namespace mtfc
