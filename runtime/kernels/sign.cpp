#include "runtime/compute/elementwise.h"

namespace mtfc {

extern const KernelDef k_sign_kernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Numbers{},
                            []<typename T>(T x) { return x != x ? x : static_cast<T>((x > 0) - (x < 0)); });
        },
};

}  // namespace mtfc
