#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::floor_kernel {

extern const KernelDef kKernel = unary_kernel(Floats{}, [](auto x) { return std::floor(x); });

}  // namespace mtfc::floor_kernel
