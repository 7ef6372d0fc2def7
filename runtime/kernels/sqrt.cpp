#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::sqrt_kernel {

extern const KernelDef kKernel = unary_kernel(Floats{}, [](auto x) { return std::sqrt(x); });

}  // namespace mtfc::sqrt_kernel
