#include "runtime/compute/move_pieces.h"

#include "core/diagnostics/error.h"
#include "core/graph/op_registry.h"
#include "core/op_rules/pieces.h"
#include "runtime/memory/runs.h"

namespace mtfc {

Kernel prepare_pieces(std::string_view op, const KernelSite& site) {
  std::vector<TensorType> operands;
  for (const LocalTensor& operand : site.operands) operands.push_back(operand.type);
  const LocalTensor& result = site.results[0];
  const PieceMap map(op_named(op), site.attributes, operands, std::vector<TensorType>{result.type});
  std::vector<std::vector<Run>> runs(operands.size());
  int64_t found = 0;
  for (size_t k = 0; k < operands.size(); ++k) {
    map.append_runs(k, site.operands[k].box, result.box, runs[k]);
    found += elements(runs[k]);
  }
  const int64_t count = result.elements();
  const std::vector<std::byte> fill = element_bytes(map.fill(), result.type.dtype);
  check_invariant(!map.covers_all() || found == count, "a device lacks pieces of a result");
  const bool fills = found < count;
  return [runs = std::move(runs), fill, fills, count](const KernelRun& run) -> int64_t {
    if (fills) fill_elements(fill, count, run.results[0]);
    for (size_t k = 0; k < runs.size(); ++k)
      copy_runs(runs[k], static_cast<int64_t>(fill.size()), run.operands[k], run.results[0]);
    return 0;
  };
}

}  // namespace mtfc
