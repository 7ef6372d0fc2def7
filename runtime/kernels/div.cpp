#include "runtime/compute/elementwise.h"

namespace mtfc::div_kernel {

extern const KernelDef kKernel = binary_kernel(Floats{}, [](auto a, auto b) { return a / b; });

}  // namespace mtfc::div_kernel
