#include "runtime/compute/floor_division.h"

namespace mtfc::floordiv_kernel {

extern const KernelDef kKernel = floor_division_kernel([](auto a, auto b) { return floor_quotient(a, b); });

}  // namespace mtfc::floordiv_kernel
