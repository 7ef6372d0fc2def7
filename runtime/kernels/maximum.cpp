#include "runtime/compute/elementwise.h"
#include "runtime/compute/nan_aware.h"

namespace mtfc::maximum_kernel {

extern const KernelDef kKernel = binary_kernel(Numbers{}, [](auto a, auto b) { return larger(a, b); });

}  // namespace mtfc::maximum_kernel
