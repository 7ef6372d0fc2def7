#include "runtime/compute/elementwise.h"
#include "runtime/compute/wrapping.h"

namespace mtfc {

extern const KernelDef k_neg_kernel = {
    .tile =
        [](const TileTypes& types) {
          return unary_tile(types, Numbers{}, [](auto x) { return sub_wrapping(decltype(x){}, x); });
        },
};

}  // namespace mtfc
