#include "runtime/compute/kernel.h"

#include <map>

#include "core/diagnostics/error.h"
#include "core/graph/op_registry.h"
#include "runtime/compute/blas.h"
#include "runtime/compute/elementwise.h"
#include "runtime/compute/in_f32.h"
#include "runtime/compute/reduction.h"

namespace mtfc {

#define MTFC_ENTRY(name)            \
  namespace name##_kernel {         \
    extern const KernelDef kKernel; \
  }
#include "kernel_list.inc"
#undef MTFC_ENTRY
#define MTFC_ENTRY(name)                                \
  namespace name##_kernels {                            \
    extern const std::span<const NamedKernel> kKernels; \
  }
#include "kernel_table_list.inc"
#undef MTFC_ENTRY

std::vector<LocalType> local_types(const std::vector<LocalTensor>& tensors) {
  std::vector<LocalType> types;
  for (const LocalTensor& tensor : tensors) types.push_back(tensor.local_type());
  return types;
}

std::vector<int64_t> LocalTensor::extents() const {
  std::vector<int64_t> extents;
  for (const Interval& interval : box) extents.push_back(interval.size());
  return extents;
}

std::vector<int64_t> LocalTensor::stored_extents() const {
  if (stored.empty()) return extents();
  std::vector<int64_t> sizes;
  for (const Interval& interval : stored) sizes.push_back(interval.size());
  return sizes;
}

namespace {

std::map<std::string_view, const KernelDef*> all_kernels() {
  std::map<std::string_view, const KernelDef*> kernels = {
#define MTFC_ENTRY(name) {#name, &name##_kernel::kKernel},
#include "kernel_list.inc"
#undef MTFC_ENTRY
  };
#define MTFC_ENTRY(name) \
  for (const NamedKernel& row : name##_kernels::kKernels) kernels[row.op] = &row.kernel;
#include "kernel_table_list.inc"
#undef MTFC_ENTRY
  return kernels;
}

}  // namespace

const KernelDef& kernel_named(std::string_view op) {
  static const std::map<std::string_view, const KernelDef*> kKernels = all_kernels();
  const auto found = kKernels.find(op);
  if (found == kKernels.end()) throw InternalError("no kernel for the operation '" + std::string(op) + "'");
  return *found->second;
}

Kernel prepare_kernel(std::string_view op, const KernelSite& site) {
  const KernelDef& def = kernel_named(op);
  if (def.tile) return prepare_elementwise(site, def.tile(tile_types(site)));
  if (def.reduction) return prepare_reduction(site, *def.reduction);
  const OpDef& operation = op_named(op);
  if (is_product(operation)) load_blas();  // here, where an error can still be reported
  return needs_f32(operation, site) ? prepare_in_f32(operation, site, def.prepare) : def.prepare(site);
}

}  // namespace mtfc
