#include "runtime/compute/elementwise.h"

namespace mtfc::less_equal_kernel {

extern const KernelDef kKernel = binary_kernel(Numbers{}, [](auto a, auto b) { return a <= b; });

}  // namespace mtfc::less_equal_kernel
