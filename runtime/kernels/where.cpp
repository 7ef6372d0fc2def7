#include "runtime/elementwise.h"

namespace mtfc {

namespace {

struct Choice {
  template <typename T>
  T operator()(bool condition, T a, T b) const {
    return condition ? a : b;
  }
};

}  // namespace

extern const KernelDef k_where_kernel = {
    .tile =
        [](const TileTypes& types) {
          return dispatch(AllTypes{}, types.result,
                          []<typename T>() -> TileFunction { return tile_function<Choice, bool, T, T>(); });
        },
};

}  // namespace mtfc
