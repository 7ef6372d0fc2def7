#include "runtime/compute/elementwise.h"

namespace mtfc::relu_kernel {

extern const KernelDef kKernel = unary_kernel(Numbers{}, [](auto x) { return x <= 0 ? decltype(x){} : x; });

}  // namespace mtfc::relu_kernel
