#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::sin_kernel {

extern const KernelDef kKernel = unary_kernel(Floats{}, [](auto x) { return std::sin(x); });

}  // namespace mtfc::sin_kernel
