#include <algorithm>
#include <array>

#include "core/op_rules/parts.h"
#include "runtime/compute/loop_nest.h"
#include "runtime/compute/parallel.h"
#include "runtime/compute/prepare_typed.h"
#include "runtime/compute/wrapping.h"

namespace mtfc::cumsum_kernel {
namespace {

constexpr int64_t kLanes = 32;  // neighbouring sums that are computed together

/// The tensor as [outer, length, inner], summed along the middle dimension.
struct ScanPlan {
  int64_t outer = 1, length = 0, inner = 1;
  std::vector<int64_t> bounds;  // starts of the parts, each of which starts a new sum, and the end
  bool exclusive = false, reverse = false;
};

ScanPlan plan_scan(const KernelSite& site) {
  const LocalTensor& x = site.operands[0];
  const Dim& dim = site.attributes.get<Dim>("dim");
  const auto at = static_cast<size_t>(position(x.type.dims, dim.name));
  ScanPlan plan;
  plan.length = x.box[at].size();
  for (size_t i = 0; i < x.box.size(); ++i)
    if (i != at) (i < at ? plan.outer : plan.inner) *= x.box[i].size();
  plan.bounds = {0, plan.length};
  if (site.attributes.has("parts"))
    plan.bounds =
        part_bounds(dim.size, site.attributes.get<Dim>("parts").size, x.box[at], site.results[1].box[0]);
  plan.exclusive = site.attributes.get_or("exclusive", false);
  plan.reverse = site.attributes.get_or("reverse", false);
  return plan;
}

template <typename T>
struct ScanMemory {
  const T* x;
  T* y;
  T* totals;  // of each part; may be absent
};

/// Computes up to kWidth neighbouring sums in row `outer`, from `first` on.
template <typename T, int64_t kWidth>
void scan(const ScanPlan& plan, const ScanMemory<T>& memory, int64_t outer, int64_t first) {
  const auto [x, y, totals] = memory;
  const int64_t width = kWidth == 1 ? 1 : std::min(kWidth, plan.inner - first);
  using Sum = std::conditional_t<std::is_same_v<T, float>, double, T>;
  for (size_t part = 0; part + 1 < plan.bounds.size(); ++part) {
    std::array<Sum, kWidth> sums{};
    const int64_t begin = plan.bounds[part], end = plan.bounds[part + 1];
    for (int64_t k = 0; k < end - begin; ++k) {
      const int64_t row = plan.reverse ? end - 1 - k : begin + k;
      const int64_t at = (outer * plan.length + row) * plan.inner + first;
      for (int64_t j = 0; j < width; ++j) {
        Sum& sum = sums[static_cast<size_t>(j)];
        const Sum before = sum;
        sum = add_wrapping(sum, static_cast<Sum>(x[at + j]));
        y[at + j] = static_cast<T>(plan.exclusive ? before : sum);
      }
    }
    if (!totals) continue;
    T* total = totals + (static_cast<int64_t>(part) * plan.outer + outer) * plan.inner + first;
    for (int64_t j = 0; j < width; ++j) total[j] = static_cast<T>(sums[static_cast<size_t>(j)]);
  }
}

template <typename T>
Kernel prepare(const KernelSite& site) {
  return [plan = plan_scan(site), elements = site.operands[0].elements()](const KernelRun& run) {
    const ScanMemory<T> memory{reinterpret_cast<const T*>(run.operands[0]),
                               reinterpret_cast<T*>(run.results[0]),
                               run.results.size() > 1 ? reinterpret_cast<T*>(run.results[1]) : nullptr};
    const int64_t blocks = (plan.inner + kLanes - 1) / kLanes;
    parallel_ranges(plan.outer * blocks, elements, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        // One sum stays in a register.
        plan.inner == 1 ? scan<T, 1>(plan, memory, i, 0)
                        : scan<T, kLanes>(plan, memory, i / blocks, i % blocks * kLanes);
    });
    return elements;
  };
}

}  // namespace

extern const KernelDef kKernel = {
    .prepare =
        prepare_typed(WideNumbers{}, []<typename T>(const KernelSite& site) { return prepare<T>(site); }),
};

}  // namespace mtfc::cumsum_kernel
