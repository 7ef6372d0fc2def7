#include "runtime/comm/prepared_ring.h"

namespace mtfc {

RingPlan plan_ring(const EntryPoint& entry, const Step& step, const Mesh& mesh, const Coordinates& at) {
  const Ring ring(entry, step, mesh);
  const Value& turning = entry.values[ring.turning()];
  RingPlan plan;
  plan.axes = ring.action().axes;
  plan.self = ring.self(at);
  plan.passes_result = ring.passes_result();
  plan.dtype = turning.type.dtype;
  plan.operand_offset = entry.buffers[turning.buffer].offset;
  for (size_t member = 0; member < ring.members(); ++member) {
    plan.ranks.push_back(mesh.rank(mesh.moved(at, plan.axes, static_cast<int64_t>(member))));
    plan.slice_elements.push_back(elements(ring.slice(at, member)));
  }
  const RingWorkspace workspace = ring.workspace();
  const int64_t first = entry.buffers[step.workspace].offset;
  // A sum arrives in the first slice of the workspace, and may leave from the second one.
  const int64_t inboxes = plan.passes_result ? 1 : workspace.slices;
  for (int64_t i = 0; i < inboxes; ++i) plan.inboxes.push_back(first + i * workspace.slice_bytes);
  return plan;
}

const std::byte* RingInMemory::take(size_t turn) {
  return plan().passes_result ? arenas_[plan().next()] + passed_
                              : arenas_[plan().owner(turn)] + plan().operand_offset;
}

void RingInMemory::send(size_t, const std::byte* slice) {
  if (plan().passes_result) passed_ = slice - arenas_[plan().self];
}

}  // namespace mtfc
