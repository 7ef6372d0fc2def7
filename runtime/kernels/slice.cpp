#include "core/graph/op_registry.h"
#include "runtime/compute/move_pieces.h"

namespace mtfc::slice_kernel {
namespace {

Kernel prepare(const KernelSite& site) {
  return prepare_pieces(op_named("slice"), site);
}

}  // namespace

extern const KernelDef kKernel = {prepare};

}  // namespace mtfc::slice_kernel
