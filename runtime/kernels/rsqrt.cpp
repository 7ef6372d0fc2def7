#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::rsqrt_kernel {

extern const KernelDef kKernel = unary_kernel(Floats{}, [](auto x) { return 1 / std::sqrt(x); });

}  // namespace mtfc::rsqrt_kernel
