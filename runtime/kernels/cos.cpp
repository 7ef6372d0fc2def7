#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::cos_kernel {

extern const KernelDef kKernel = unary_kernel(Floats{}, [](auto x) { return std::cos(x); });

}  // namespace mtfc::cos_kernel
