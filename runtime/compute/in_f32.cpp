#include "runtime/compute/in_f32.h"

#include <algorithm>

#include "core/diagnostics/error.h"
#include "runtime/compute/elementwise.h"
#include "runtime/compute/parallel.h"

namespace mtfc {
namespace {

struct Same {
  float operator()(float x) const { return x; }
};

bool is_bf16(const LocalTensor& tensor) {
  return tensor.type.dtype == DType::kBF16;
}

// One operand or result that is copied.
struct Copy {
  size_t index = 0;
  int64_t offset = 0;  // in the workspace
  int64_t elements = 0;
};

std::vector<Copy> copies_of(const std::vector<LocalTensor>& tensors, const std::vector<int64_t>& offsets) {
  std::vector<Copy> copies;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (offsets[i] >= 0) copies.push_back({i, offsets[i], tensors[i].elements()});
  return copies;
}

void convert(TileFunction function, const std::byte* from, DType from_dtype, std::byte* to, DType to_dtype,
             int64_t count) {
  parallel_ranges(count, count, [&](int64_t begin, int64_t end) {
    const std::byte* const start = from + begin * size_of(from_dtype);
    function(&start, to + begin * size_of(to_dtype), end - begin);
  });
}

}  // namespace

TileFunction bf16_to_f32() {
  return tile_function_to<float, Same, Bf16>();
}

TileFunction i8_to_f32() {
  return tile_function_to<float, Same, int8_t>();
}

TileFunction f32_to_bf16() {
  return tile_function_to<Bf16, Same, float>();
}

bool needs_f32(const OpDef& op, const KernelSite& site) {
  return op.traits.in_f32 && (std::any_of(site.operands.begin(), site.operands.end(), is_bf16) ||
                              std::any_of(site.results.begin(), site.results.end(), is_bf16));
}

Kernel prepare_in_f32(const OpDef& op, const KernelSite& site, Kernel (*prepare)(const KernelSite&)) {
  const std::vector<LocalType> given = local_types(site.operands), made = local_types(site.results);
  const KernelWorkspace workspace = kernel_workspace(op, {site.attributes, given}, made);
  check_invariant(workspace.bytes <= site.workspace_bytes, "a kernel was granted too little workspace");
  KernelSite wide = site;
  for (std::vector<LocalTensor>* tensors : {&wide.operands, &wide.results})
    for (LocalTensor& tensor : *tensors) tensor.type.dtype = in_kernel(op, tensor.type.dtype);
  wide.workspace_bytes = workspace.own;
  return [kernel = prepare(wide), operands = copies_of(site.operands, workspace.operands),
          results = copies_of(site.results, workspace.results)](const KernelRun& run) {
    std::vector<const std::byte*> from(run.operands.begin(), run.operands.end());
    std::vector<std::byte*> to(run.results.begin(), run.results.end());
    for (const Copy& copy : operands) {
      convert(bf16_to_f32(), run.operands[copy.index], DType::kBF16, run.workspace + copy.offset, DType::kF32,
              copy.elements);
      from[copy.index] = run.workspace + copy.offset;
    }
    for (const Copy& copy : results) to[copy.index] = run.workspace + copy.offset;
    KernelRun inner = run;
    inner.operands = from;
    inner.results = to;
    const int64_t flops = kernel(inner);
    for (const Copy& copy : results)
      convert(f32_to_bf16(), to[copy.index], DType::kF32, run.results[copy.index], DType::kBF16,
              copy.elements);
    return flops;
  };
}

}  // namespace mtfc
