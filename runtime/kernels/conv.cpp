#include "runtime/compute/convolution.h"

namespace mtfc::conv_kernel {

extern const KernelDef kKernel = {
    .prepare = prepare_convolution,
};

}  // namespace mtfc::conv_kernel
