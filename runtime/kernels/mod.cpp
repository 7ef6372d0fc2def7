#include "runtime/compute/floor_division.h"

namespace mtfc::mod_kernel {

extern const KernelDef kKernel = floor_division_kernel([](auto a, auto b) { return floor_remainder(a, b); });

}  // namespace mtfc::mod_kernel
