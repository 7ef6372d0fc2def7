#include "runtime/compute/elementwise.h"
#include "runtime/compute/wrapping.h"

namespace mtfc::sub_kernel {

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return binary_tile(types, Numbers{}, [](auto a, auto b) { return sub_wrapping(a, b); });
        },
};

}  // namespace mtfc::sub_kernel
