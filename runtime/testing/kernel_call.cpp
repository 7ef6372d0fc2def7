#include "runtime/testing/kernel_call.h"

#include <algorithm>
#include <iterator>

#include "core/graph/op_registry.h"
#include "runtime/compute/loop_nest.h"
#include "runtime/testing/example_data.h"

namespace mtfc {
namespace {

// The type of the region `box` as a tensor of its own.
TensorType type_of_slice(const TensorType& type, const Box& box) {
  TensorType slice = type;
  for (size_t i = 0; i < box.size(); ++i) slice.dims[i].size = box[i].size();
  return slice;
}

}  // namespace

HostTensor slice_of(const HostTensor& tensor, const Box& box) {
  HostTensor slice(type_of_slice(tensor.type, box));
  std::vector<int64_t> sizes;
  for (const Dim& dim : tensor.type.dims) sizes.push_back(dim.size);
  const LocalTensor part{tensor.type, box};
  const LoopNest nest{part.extents(), {dense_strides(sizes)}};
  int64_t first = 0;
  for (size_t i = 0; i < box.size(); ++i) first += box[i].begin * nest.strides[0][i];
  if (part.elements() > 0)
    nest_copy(tensor.type.dtype)(nest, 0, part.elements(),
                                 tensor.data.data() + first * size_of(tensor.type.dtype), slice.data.data());
  return slice;
}

KernelAnswer call_kernel(const KernelCall& call) {
  const OpDef& op = op_named(call.op);
  KernelSite site{call.attributes, {}, {}, "result", 0};
  std::vector<TensorType> types;
  std::vector<LocalType> local, made;
  std::vector<HostTensor> parts;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const TensorType& type = call.operands[i].type;
    const Box box = call.operand_boxes.empty() ? whole_box(type.dims) : call.operand_boxes[i];
    site.operands.push_back({type, box});
    parts.push_back(slice_of(call.operands[i], box));
    types.push_back(type);
    local.push_back(site.operands.back().local_type());
  }
  std::vector<HostTensor> held;
  for (const TensorType& type : op.signature.infer({call.attributes, types})) {
    const size_t r = held.size();
    Box box = whole_box(type.dims);
    if (r == 0 && call.result_box) box = *call.result_box;
    if (r > 0 && !call.other_boxes.empty()) box = call.other_boxes.at(r - 1);
    site.results.push_back({type, box});
    held.emplace_back(type_of_slice(type, box));
    made.push_back(site.results.back().local_type());
    // Kernels must not rely on what was in their results before.
    std::fill(held.back().data.begin(), held.back().data.end(), std::byte{1});
  }
  KernelAnswer answer;
  const LocalCall local_call{call.attributes, local};
  answer.planned_flops = op.flops(local_call, made);
  site.workspace_bytes = kernel_workspace(op, local_call, made).bytes;
  std::vector<std::byte> workspace(static_cast<size_t>(site.workspace_bytes));
  std::vector<const std::byte*> operands;
  for (const HostTensor& part : parts) operands.push_back(part.data.data());
  std::vector<std::byte*> results;
  for (HostTensor& result : held) results.push_back(result.data.data());
  answer.flops = prepare_kernel(call.op, site)({operands, results, workspace.data(), call.seed, call.step});
  answer.result = std::move(held.front());
  answer.others.assign(std::make_move_iterator(held.begin() + 1), std::make_move_iterator(held.end()));
  return answer;
}

}  // namespace mtfc
