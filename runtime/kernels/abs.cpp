#include <cmath>
#include <type_traits>

#include "runtime/compute/elementwise.h"
#include "runtime/compute/wrapping.h"

namespace mtfc::abs_kernel {
namespace {

struct Magnitude {
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return std::abs(x);
    return x < 0 ? sub_wrapping(T{}, x) : x;
  }
};

}  // namespace

extern const KernelDef kKernel = unary_kernel(Numbers{}, Magnitude{});

}  // namespace mtfc::abs_kernel
