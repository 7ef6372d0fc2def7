#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::erf_kernel {

extern const KernelDef kKernel = unary_kernel(Floats{}, [](auto x) { return std::erf(x); });

}  // namespace mtfc::erf_kernel
