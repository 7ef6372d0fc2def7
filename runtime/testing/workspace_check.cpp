#include "runtime/testing/workspace_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/comm/transfer.h"

namespace mtfc {
namespace {

int64_t packed_bytes(const CollectivePlan& plan) {
  int64_t sent = 0, received = 0;
  for (size_t member = 0; member < plan.sends.size(); ++member) {
    if (plan.kind == CollectiveKind::kExchange && member == plan.self && !plan.in_place()) continue;
    sent += elements(plan.sends[member]);
    received += elements(plan.receives[member]);
  }
  if (plan.kind == CollectiveKind::kAllGather) sent = 0;
  if (plan.kind == CollectiveKind::kReduceScatter) {
    sent = std::max(sent, plan.input.elements());
    received = 0;
  }
  const int64_t size = size_of(plan.dtype);
  return aligned(sent * size) + received * size;
}

}  // namespace

std::string workspace_fault(const Program& program, const EntryPoint& entry) {
  const Mesh& mesh = program.mesh();
  for (size_t s = 0; s < entry.steps.size(); ++s) {
    const Step& step = entry.steps[s];
    if (step.kind() != StepKind::kStart) continue;
    for (int64_t rank = 0; rank < mesh.devices(); ++rank) {
      const CollectivePlan plan = plan_collective(entry, step, mesh, mesh.coordinates(rank));
      if (packed_bytes(plan) > plan.workspace_bytes)
        return fmt::format("step {} '{}': its workspace is too small", s, step.name);
    }
  }
  return "";
}

}  // namespace mtfc
