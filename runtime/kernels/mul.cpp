#include "runtime/compute/elementwise.h"
#include "runtime/compute/wrapping.h"

namespace mtfc::mul_kernel {

extern const KernelDef kKernel = binary_kernel(Numbers{}, [](auto a, auto b) { return mul_wrapping(a, b); });

}  // namespace mtfc::mul_kernel
