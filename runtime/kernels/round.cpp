#include <cmath>

#include "runtime/compute/elementwise.h"

namespace mtfc::round_kernel {

extern const KernelDef kKernel = unary_kernel(Floats{}, [](auto x) { return std::nearbyint(x); });

}  // namespace mtfc::round_kernel
