#include "runtime/compute/elementwise.h"
#include "runtime/compute/wrapping.h"

namespace mtfc::square_kernel {

extern const KernelDef kKernel = unary_kernel(Numbers{}, [](auto x) { return mul_wrapping(x, x); });

}  // namespace mtfc::square_kernel
