#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::log_kernel {

extern const KernelDef kKernel = unary_kernel(Floats{}, [](auto x) { return std::log(x); });

}  // namespace mtfc::log_kernel
