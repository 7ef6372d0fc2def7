#include "core/passes/combining_choice.h"

#include "core/program/collective_cost.h"
#include "core/program/plan_figures.h"

namespace mtfc {

bool is_small_reduction(const EntryPoint& entry, const Step& start, const Layout& layout,
                        const CompileOptions& options) {
  if (!options.combines) return false;
  const int64_t sent = largest_collective_cost(entry, start, layout.mesh).bytes_sent;
  return sent > 0 && sent <= kPlanBytesPerCollective;
}

}  // namespace mtfc
