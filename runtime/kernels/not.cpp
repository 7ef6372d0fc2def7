#include "runtime/compute/elementwise.h"

namespace mtfc::not_kernel {

extern const KernelDef kKernel = unary_kernel(Types<bool>{}, [](bool x) { return !x; });

}  // namespace mtfc::not_kernel
