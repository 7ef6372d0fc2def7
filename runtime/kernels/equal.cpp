#include "runtime/compute/elementwise.h"

namespace mtfc::equal_kernel {

extern const KernelDef kKernel = binary_kernel(ModelTypes{}, [](auto a, auto b) { return a == b; });

}  // namespace mtfc::equal_kernel
