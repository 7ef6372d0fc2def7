#include "runtime/compute/elementwise.h"
#include "runtime/compute/wrapping.h"

namespace mtfc::neg_kernel {

extern const KernelDef kKernel =
    unary_kernel(Numbers{}, [](auto x) { return sub_wrapping(decltype(x){}, x); });

}  // namespace mtfc::neg_kernel
