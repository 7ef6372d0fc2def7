#include "runtime/compute/elementwise.h"
#include "runtime/compute/exponential.h"

namespace mtfc::exp_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Floats{}, [](auto x) { return exponential(x); });
        },
};

}  // namespace mtfc::exp_kernel
