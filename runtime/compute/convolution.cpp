#include "runtime/compute/convolution.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "core/op_rules/conv_plan.h"
#include "runtime/compute/convolution_products.h"
#include "runtime/compute/convolution_sums.h"
#include "runtime/compute/parallel.h"
#include "runtime/memory/dtypes.h"

namespace mtfc {
namespace {

constexpr int64_t kSharedWork = 256 * 1024;  // products from which threads share sums

/// All loops of a convolution have one form, and belong either to `products` or to `sums`.
template <typename T>
struct Convolution {
  std::optional<ConvProducts<T>> products;
  std::vector<ConvSums<T>> sums;
  std::vector<std::pair<const ConvSums<T>*, int64_t>> tasks;  // of the sums, by their numbers
  std::vector<ConvScratch<T>> scratch;                        // of each thread, for the sums
  int64_t parts = 1, result_elements = 0;
};

/// The number of parts of the sums.
template <typename T>
int64_t parts_of(const std::vector<ConvSums<T>>& sums, int64_t result_elements) {
  int64_t tasks = 0, entries = 0;
  for (const ConvSums<T>& each : sums) {
    tasks += each.tasks();
    entries = std::max(entries, each.entries());
  }
  const int64_t most = 1 + kConvPartBytes / (result_elements * static_cast<int64_t>(sizeof(T)));
  return tasks == 0 ? 1
                    : std::max<int64_t>(1, std::min({kConvParts / tasks, most, entries / kLeastConvPart}));
}

template <typename T>
void add_parts(const Convolution<T>& c, const T* parts, T* y) {
  const int64_t count = c.result_elements;
  parallel_ranges(count, count * c.parts, [&](int64_t begin, int64_t end) {
    for (int64_t part = 0; part + 1 < c.parts; ++part)
      for (int64_t i = begin; i < end; ++i) y[i] += parts[part * count + i];
  });
}

template <typename T>
void run_sums(Convolution<T>& c, const ConvMemory<T>& memory) {
  int64_t work = 0;
  std::vector<std::pair<const ConvSums<T>*, int64_t>>& tasks = c.tasks;
  for (const ConvSums<T>& each : c.sums) work += each.work();
  const auto count = static_cast<int64_t>(tasks.size());
  const auto run_item = [&](int64_t i) {
    const auto [sums, number] = tasks[static_cast<size_t>(i % count)];
    const int64_t part = i / count;
    ConvMemory<T> own = memory;
    if (part > 0) own.y = memory.workspace + (part - 1) * c.result_elements;
    sums->run_task(own, c.scratch[static_cast<size_t>(thread_number())], number, {part, c.parts});
  };
  if (work < kSharedWork)
    for (int64_t i = 0; i < count * c.parts; ++i) run_item(i);
  else
    parallel_items(count * c.parts, run_item);
  if (c.parts > 1) add_parts(c, memory.workspace, memory.y);
}

template <typename T>
std::shared_ptr<Convolution<T>> plan(const KernelSite& site) {
  const auto c = std::make_shared<Convolution<T>>();
  c->result_elements = site.results[0].elements();
  std::vector<ConvLoops> loops = conv_loops(site);
  if (loops.empty()) return c;
  if (loops[0].form == ConvForm::kRuns) {
    c->products.emplace(std::move(loops));
    return c;
  }
  for (ConvLoops& each : loops) c->sums.emplace_back(std::move(each));
  ConvNeeds needs;
  for (const ConvSums<T>& each : c->sums) needs.include(each.needs());
  c->scratch.assign(static_cast<size_t>(thread_count()), ConvScratch<T>(needs));
  for (const ConvSums<T>& each : c->sums)
    for (int64_t i = 0; i < each.tasks(); ++i) c->tasks.emplace_back(&each, i);
  c->parts = parts_of(c->sums, c->result_elements);
  return c;
}

template <typename T>
Kernel prepare(const KernelSite& site) {
  const std::vector<LocalType> operands = {site.operands[0].local_type(), site.operands[1].local_type()};
  const LocalType result = site.results[0].local_type();
  check_invariant(conv_workspace(site.attributes, operands, result) <= site.workspace_bytes,
                  "a convolution was granted too little workspace");
  return [c = plan<T>(site), flops = conv_flops(site.attributes, operands, result)](const KernelRun& run) {
    const ConvMemory<T> memory = {reinterpret_cast<const T*>(run.operands[0]),
                                  reinterpret_cast<const T*>(run.operands[1]),
                                  reinterpret_cast<T*>(run.results[0]), reinterpret_cast<T*>(run.workspace)};
    if (c->products) c->products->run(memory);
    if (!c->sums.empty()) run_sums(*c, memory);
    return flops;
  };
}

}  // namespace

Kernel prepare_convolution(const KernelSite& site) {
  return dispatch(WideFloats{}, site.results[0].type.dtype,
                  [&]<typename T>() -> Kernel { return prepare<T>(site); });
}

}  // namespace mtfc
