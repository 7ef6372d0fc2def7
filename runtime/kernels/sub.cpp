#include "runtime/compute/elementwise.h"
#include "runtime/compute/wrapping.h"

namespace mtfc::sub_kernel {

extern const KernelDef kKernel = binary_kernel(Numbers{}, [](auto a, auto b) { return sub_wrapping(a, b); });

}  // namespace mtfc::sub_kernel
