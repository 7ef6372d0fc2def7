#include "runtime/compute/elementwise.h"

namespace mtfc::or_kernel {

extern const KernelDef kKernel = binary_kernel(Types<bool>{}, [](bool a, bool b) { return a || b; });

}  // namespace mtfc::or_kernel
