#include "core/compile/ring_choice.h"

#include <string>
#include <vector>

#include "core/cost/ring_time.h"
#include "core/program/collective_cost.h"
#include "core/program/ring.h"

namespace mtfc {
namespace {

// A ring must be predicted to take less than this share of the time of collective and product: predictions are not
// exact, and other kernels may hide the collective.
constexpr double kClearlyFaster = 0.95;

bool takes_less_memory(const RingCandidate& candidate, const Mesh& mesh) {
  const Ring ring(candidate.entry, candidate.ring, mesh);
  const Step& collective = candidate.collective;
  const ValueId whole = ring.passes_result() ? collective.inputs[0] : collective.outputs[0];
  return ring.workspace().bytes() < largest_bytes(candidate.entry, whole, mesh);
}

// The bytes that a step reads and writes, all of them as if they had not been touched for long: there are no places in
// memory yet.
std::vector<MemoryAccess> traffic_of(const RingCandidate& candidate, const Step& step, const Mesh& mesh) {
  std::vector<MemoryAccess> traffic;
  int64_t all = 0;
  for (const auto* values : {&step.inputs, &step.outputs})
    for (const ValueId id : *values) all += largest_bytes(candidate.entry, id, mesh);
  for (const ValueId id : step.inputs)
    traffic.push_back({largest_bytes(candidate.entry, id, mesh), all, false});
  for (const ValueId id : step.outputs)
    traffic.push_back({largest_bytes(candidate.entry, id, mesh), all, true});
  return traffic;
}

bool is_faster(const RingCandidate& candidate, const Mesh& mesh, const Hardware& hardware) {
  const EntryPoint& entry = candidate.entry;
  const Collective& collective = candidate.collective.collective();
  const auto sent =
      static_cast<double>(largest_collective_cost(entry, candidate.collective, mesh).bytes_sent);
  const double apart =
      collective_time(collective.kind, collective.axes, mesh, sent, hardware).seconds() +
      kernel_time(entry, candidate.product, traffic_of(candidate, candidate.product, mesh), mesh, hardware)
          .seconds();
  const double turned = ring_time(entry, candidate.ring,
                                  kernel_time(entry, candidate.ring,
                                              traffic_of(candidate, candidate.ring, mesh), mesh, hardware),
                                  mesh, hardware)
                            .seconds();
  return turned < kClearlyFaster * apart;
}

}  // namespace

std::string product_name(std::string_view step) {
  std::string name = tensor_name(step);
  if (name.ends_with(kAgain)) name.resize(name.size() - kAgain.size());
  return name;
}

bool wants_ring(const RingCandidate& candidate, const Layout& layout, bool saves_memory,
                const Hardware* faster_on) {
  if (const RingRule* rule = find_ring(layout, product_name(candidate.product.name))) return rule->turns;
  if (candidate.readers > 1) return false;
  if (saves_memory && takes_less_memory(candidate, layout.mesh)) return true;
  return faster_on && is_faster(candidate, layout.mesh, *faster_on);
}

}  // namespace mtfc
