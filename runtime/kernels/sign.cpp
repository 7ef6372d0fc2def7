#include "runtime/compute/elementwise.h"

namespace mtfc::sign_kernel {

extern const KernelDef kKernel =
    unary_kernel(Numbers{}, []<typename T>(T x) { return x != x ? x : static_cast<T>((x > 0) - (x < 0)); });

}  // namespace mtfc::sign_kernel
