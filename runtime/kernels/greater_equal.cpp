#include "runtime/compute/elementwise.h"

namespace mtfc::greater_equal_kernel {

extern const KernelDef kKernel = binary_kernel(Numbers{}, [](auto a, auto b) { return a >= b; });

}  // namespace mtfc::greater_equal_kernel
