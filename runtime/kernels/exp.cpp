#include "runtime/compute/elementwise.h"
#include "runtime/compute/exponential.h"

namespace mtfc::exp_kernel {

extern const KernelDef kKernel = unary_kernel(Floats{}, [](auto x) { return exponential(x); });

}  // namespace mtfc::exp_kernel
