#include "core/diagnostics/error.h"
#include "core/graph/op_registry.h"
#include "core/op_rules/pieces.h"
#include "runtime/compute/convolution.h"
#include "runtime/compute/random.h"
#include "runtime/compute/relabel.h"
#include "runtime/memory/runs.h"

namespace mtfc::shared_kernels {
namespace {

// The kernel of `op`, which assembles a dimension from pieces (core/op_rules/pieces.h), for devices that hold
// everything their shard of the result needs.
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

constexpr NamedKernel kRows[] = {
    {"broadcast", {.prepare = prepare_spread}},
    {"transpose", {.prepare = prepare_spread}},
    {"identity", {.prepare = prepare_relabel}},
    {"rename", {.prepare = prepare_relabel}},
    {"reshape", {.prepare = prepare_relabel}},
    {"stop_gradient", {.prepare = prepare_relabel}},
    {"concat", {.prepare = [](const KernelSite& site) { return prepare_pieces("concat", site); }}},
    {"pad", {.prepare = [](const KernelSite& site) { return prepare_pieces("pad", site); }}},
    {"reverse", {.prepare = [](const KernelSite& site) { return prepare_pieces("reverse", site); }}},
    {"shift", {.prepare = [](const KernelSite& site) { return prepare_pieces("shift", site); }}},
    {"slice", {.prepare = [](const KernelSite& site) { return prepare_pieces("slice", site); }}},
    {"random_normal",
     {.prepare = [](const KernelSite& site) { return prepare_random(site, Distribution::kNormal); }}},
    {"random_truncated_normal",
     {.prepare =
          [](const KernelSite& site) { return prepare_random(site, Distribution::kTruncatedNormal); }}},
    {"random_uniform",
     {.prepare = [](const KernelSite& site) { return prepare_random(site, Distribution::kUniform); }}},
    {"reduce_sum", {.reduction = Reduction::kSum}},
    {"reduce_mean", {.reduction = Reduction::kMean}},
    {"reduce_prod", {.reduction = Reduction::kProd}},
    {"reduce_max", {.reduction = Reduction::kMax}},
    {"reduce_min", {.reduction = Reduction::kMin}},
    {"reduce_any", {.reduction = Reduction::kMax}},
    {"reduce_all", {.reduction = Reduction::kMin}},
    {"conv", {.prepare = prepare_convolution}},
};

}  // namespace

extern const std::span<const NamedKernel> kKernels = kRows;

}  // namespace mtfc::shared_kernels
