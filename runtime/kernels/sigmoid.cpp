#include "runtime/compute/elementwise.h"
#include "runtime/compute/exponential.h"

namespace mtfc::sigmoid_kernel {

extern const KernelDef kKernel = unary_kernel(Floats{}, [](auto x) { return 1 / (1 + exponential(-x)); });

}  // namespace mtfc::sigmoid_kernel
