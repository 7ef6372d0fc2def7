#include "runtime/compute/elementwise.h"
#include "runtime/compute/nan_aware.h"

namespace mtfc::minimum_kernel {

extern const KernelDef kKernel = binary_kernel(Numbers{}, [](auto a, auto b) { return smaller(a, b); });

}  // namespace mtfc::minimum_kernel
