#include "core/passes/combining_choice.h"

#include <algorithm>

#include "core/cost/collective_time.h"
#include "core/program/collective_cost.h"

namespace mtfc {

bool is_small_reduction(const EntryPoint& entry, const Step& start, const Layout& layout,
                        const CompileOptions& options) {
  if (!options.combines) return false;
  const Collective& collective = start.collective();
  const int64_t sent = largest_collective_cost(entry, start, layout.mesh).bytes_sent;
  const bool is_planned = layout.propagate || !layout.annotations.empty();
  if (!is_planned || !options.hardware) return sent > 0 && sent <= kPlanBytesPerCollective;
  const CollectiveTime time = collective_time(collective.kind, collective.axes, layout.mesh,
                                              static_cast<double>(sent), *options.hardware);
  const int64_t copied = largest_bytes(entry, start.inputs[0], layout.mesh);
  return time.latency_s > std::max(time.transfer_s, packing_seconds(copied, *options.hardware));
}

}  // namespace mtfc
