#include <limits>
#include <type_traits>

#include "runtime/compute/elementwise.h"

namespace mtfc::cast_kernel {

namespace {

/// Floats are truncated towards zero; values out of an integer's range become its nearest limit, and NaN
/// becomes 0.
template <typename To>
struct Conversion {
  template <typename From>
  To operator()(From x) const {
    if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>) {
      // -min is a power of two and so exact in From; the largest integer itself may not be.
      constexpr From kLimit = -static_cast<From>(std::numeric_limits<To>::min());
      if (x != x) return 0;
      if (x >= kLimit) return std::numeric_limits<To>::max();
      if (x < -kLimit) return std::numeric_limits<To>::min();
    }
    return static_cast<To>(x);
  }
};

}  // namespace

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return dispatch(AllTypes{}, types.operands[0],
                          [to = types.result]<typename From>() -> TileFunction {
                            return dispatch(AllTypes{}, to, []<typename To>() -> TileFunction {
                              return tile_function_to<To, Conversion<To>, From>();
                            });
                          });
        },
};

}  // namespace mtfc::cast_kernel
