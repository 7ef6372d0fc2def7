#include "runtime/compute/elementwise.h"
#include "runtime/compute/wrapping.h"

namespace mtfc {

extern const KernelDef k_sub_kernel = {
    .tile =
        [](const TileTypes& types) {
          return binary_tile(types, Numbers{}, [](auto a, auto b) { return sub_wrapping(a, b); });
        },
};

}  // namespace mtfc
