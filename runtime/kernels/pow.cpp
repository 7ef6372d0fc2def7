#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::pow_kernel {

extern const KernelDef kKernel = binary_kernel(Floats{}, [](auto a, auto b) { return std::pow(a, b); });

}  // namespace mtfc::pow_kernel
