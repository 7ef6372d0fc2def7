#include "runtime/compute/elementwise.h"
#include "runtime/compute/exponential.h"

namespace mtfc {

extern const KernelDef k_exp_kernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Floats{}, [](auto x) { return exponential(x); });
        },
};

}  // namespace mtfc
