#include "runtime/compute/elementwise.h"

namespace mtfc::reciprocal_kernel {

extern const KernelDef kKernel = unary_kernel(Floats{}, [](auto x) { return 1 / x; });

}  // namespace mtfc::reciprocal_kernel
