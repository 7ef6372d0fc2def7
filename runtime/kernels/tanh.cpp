#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::tanh_kernel {

extern const KernelDef kKernel = unary_kernel(Floats{}, [](auto x) { return std::tanh(x); });

}  // namespace mtfc::tanh_kernel
