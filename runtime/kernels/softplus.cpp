#include <cmath>

#include "runtime/compute/elementwise.h"
#include "runtime/compute/exponential.h"

namespace mtfc::softplus_kernel {

extern const KernelDef kKernel =
    unary_kernel(Floats{}, [](auto x) { return (x < 0 ? 0 : x) + std::log1p(exponential(-std::abs(x))); });

}  // namespace mtfc::softplus_kernel
