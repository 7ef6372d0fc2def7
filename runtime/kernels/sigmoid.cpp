#include "runtime/compute/elementwise.h"
#include "runtime/compute/exponential.h"

namespace mtfc::sigmoid_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Floats{}, [](auto x) { return 1 / (1 + exponential(-x)); });
        },
};

}  // namespace mtfc::sigmoid_kernel
