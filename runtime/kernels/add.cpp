#include "runtime/compute/elementwise.h"
#include "runtime/compute/wrapping.h"

namespace mtfc {

extern const KernelDef k_add_kernel = {
    .tile =
        [](const TileTypes& types) {
          return binary_tile(types, Numbers{}, [](auto a, auto b) { return add_wrapping(a, b); });
        },
};

}  // namespace mtfc
