#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::ceil_kernel {

extern const KernelDef kKernel = unary_kernel(Floats{}, [](auto x) { return std::ceil(x); });

}  // namespace mtfc::ceil_kernel
