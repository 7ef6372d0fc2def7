#include "runtime/execute/ring_run.h"

#include <array>

#include "runtime/comm/reduce.h"
#include "runtime/compute/loop_nest.h"
#include "runtime/compute/parallel.h"

namespace mtfc {

RingRun::RingRun(const EntryPoint& entry, const Step& step, const Mesh& mesh, const Coordinates& at,
                 const Arena& arena)
    : entry_(entry), step_(step), mesh_(mesh), at_(at), arena_(arena), turning_(step.as<RunRing>()->turning) {
  const Ring ring(entry, step, mesh);
  const RingWorkspace workspace = ring.workspace();
  std::byte* const scratch = arena.at(entry.buffers[step.workspace].offset);
  workspace_ = scratch + workspace.product_offset();
  workspace_bytes_ = workspace.product_bytes;
  for (size_t t = 0; t < ring.members(); ++t) {
    const RingTurn boxes = ring.turn(at_, ring.slice_owner(ring.self(at_), t));
    Turn turn;
    turn.kernel = &kernel(ring, boxes, ring.adds() && t > 0);
    for (size_t i = 0; i < 2; ++i)
      turn.operands[i] =
          step.inputs[i] == ring.turning() ? nullptr : first_of(step.inputs[i], boxes.operands[i]);
    // If the result turns, the last product is computed in its place, and those before in the workspace and there by
    // turns.
    const bool in_workspace = ring.passes_result() && (ring.members() - t) % 2 == 0;
    turn.result = in_workspace           ? scratch + workspace.slice_bytes
                  : ring.passes_result() ? first_of(step.outputs[0], {})
                                         : first_of(step.outputs[0], boxes.result);
    turn.result_elements = elements(boxes.result);
    turns_.push_back(turn);
  }
}

// The first element of `box` in the device's shard of a value. Without a box, that of the shard.
std::byte* RingRun::first_of(ValueId id, const Box& box) const {
  const Value& value = entry_.values[id];
  const Box own = local_box(value.type.dims, value.sharding, mesh_, at_);
  const std::vector<int64_t> strides = dense_strides(LocalTensor{value.type, own}.extents());
  int64_t offset = 0;
  for (size_t d = 0; d < box.size(); ++d) offset += (box[d].begin - own[d].begin) * strides[d];
  return arena_.at(entry_.buffers[value.buffer].offset) + offset * size_of(value.type.dtype);
}

const Kernel& RingRun::kernel(const Ring& ring, const RingTurn& turn, bool adds) {
  const auto tensor = [&](ValueId id, const Box& box) {
    const Value& value = entry_.values[id];
    LocalTensor local{value.type, box};
    if (ring.has_gaps(id)) local.stored = local_box(value.type.dims, value.sharding, mesh_, at_);
    return local;
  };
  const auto [known, is_new] = kernels_.try_emplace({turn.slice.size(), adds});
  if (is_new)
    known->second = prepare_kernel(step_.op()->signature.name, {step_.attributes(),
                                                                {tensor(step_.inputs[0], turn.operands[0]),
                                                                 tensor(step_.inputs[1], turn.operands[1])},
                                                                {tensor(step_.outputs[0], turn.result)},
                                                                step_.name,
                                                                workspace_bytes_,
                                                                adds});
  return known->second;
}

int64_t RingRun::run(size_t t, PreparedRing& ring, const KernelRun& run) {
  const Turn& turn = turns_[t];
  const bool is_last = t + 1 == turns_.size();
  std::array<const std::byte*, 2> operands = turn.operands;
  if (turning_ != Turning::kResult) {
    const std::byte* const slice = ring.take(t);
    if (!is_last) ring.pass(t, slice);
    operands[turning_ == Turning::kSecond] = slice;
  }
  KernelRun product = run;
  product.operands = operands;
  product.results = {&turn.result, 1};
  product.workspace = workspace_;
  const int64_t flops = (*turn.kernel)(product);
  if (turning_ == Turning::kResult) {
    if (t > 0) add(ring.take(t), turn);
    if (!is_last) ring.pass(t, turn.result);
  }
  return flops;
}

// Adds to the product of the turn the sum of those of the members before.
void RingRun::add(const std::byte* sum, const Turn& turn) const {
  const DType dtype = entry_.values[step_.outputs[0]].type.dtype;
  const int64_t size = size_of(dtype);
  parallel_ranges(turn.result_elements, turn.result_elements, [&](int64_t begin, int64_t end) {
    combine(ReduceKind::kSum, dtype, sum + begin * size, turn.result + begin * size, end - begin);
  });
}

}  // namespace mtfc
