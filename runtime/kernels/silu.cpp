#include "runtime/compute/elementwise.h"
#include "runtime/compute/exponential.h"

namespace mtfc::silu_kernel {

extern const KernelDef kKernel = unary_kernel(Floats{}, [](auto x) { return x / (1 + exponential(-x)); });

}  // namespace mtfc::silu_kernel
