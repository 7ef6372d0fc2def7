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
    .prepare =
        [](const KernelSite& site) {
          const DType dtype = site.results[0].type.dtype;
          return prepare_elementwise(site, dispatch(AllTypes{}, dtype, []<typename T>() -> TileFunction {
                                       return Tile<Choice, bool, T, T>::run;
                                     }));
        },
};

}  // namespace mtfc
