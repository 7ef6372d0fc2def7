#include "runtime/compute/elementwise.h"
#include "runtime/compute/wrapping.h"

namespace mtfc::add_kernel {

extern const KernelDef kKernel = binary_kernel(Numbers{}, [](auto a, auto b) { return add_wrapping(a, b); });

}  // namespace mtfc::add_kernel
