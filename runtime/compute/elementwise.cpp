#include "runtime/compute/elementwise.h"

#include <algorithm>

#include "runtime/compute/loop_nest.h"
#include "runtime/compute/parallel.h"

namespace mtfc {
namespace {

constexpr int64_t kTile = 1024;
constexpr size_t kMaxOperands = kMaxWalked;
constexpr int64_t kLargestElement = 8;

/// Brings the elements of one operand into the order of the result.
struct Feed {
  LoopNest nest;
  NestCopy copy = nullptr;
  int64_t element = 0;    // bytes
  bool in_order = false;  // read in place
  bool single = false;    // one element is repeated over the whole result
};

Feed feed_of(const LocalTensor& operand, const LocalTensor& result) {
  LoopNest nest;
  nest.extents = result.extents();
  nest.strides = {aligned_strides(operand, result.type.dims)};
  Feed feed{collapse(nest), nest_copy(operand.type.dtype), size_of(operand.type.dtype), false, false};
  feed.single = feed.nest.loops() == 0 || (feed.nest.loops() == 1 && feed.nest.strides[0][0] == 0);
  feed.in_order = feed.nest.loops() == 0 || (feed.nest.loops() == 1 && feed.nest.strides[0][0] == 1);
  return feed;
}

struct ElementwisePlan {
  std::vector<Feed> feeds;
  int64_t elements = 0;
  int64_t result_element = 0;  // bytes
  TileFunction function = nullptr;
};

/// Returns whether elements [start, start + count) of the operand are consecutive in memory; if so, `at` is
/// set to the first.
bool consecutive(const Feed& feed, int64_t start, int64_t count, int64_t& at) {
  if (feed.in_order) {
    at = start;
    return true;
  }
  const size_t inner = feed.nest.loops() - 1;
  const int64_t length = feed.nest.extents[inner], column = start % length;
  if (feed.nest.strides[0][inner] != 1 || column + count > length) return false;
  at = NestCursor(feed.nest, inner, start / length).offset(0) + column;
  return true;
}

void compute(const ElementwisePlan& plan, const KernelRun& run, int64_t begin, int64_t end) {
  alignas(64) std::byte buffers[kMaxOperands][kTile * kLargestElement];
  const std::byte* tiles[kMaxOperands];
  for (size_t i = 0; i < plan.feeds.size(); ++i)
    if (plan.feeds[i].single && !plan.feeds[i].in_order) {
      plan.feeds[i].copy(plan.feeds[i].nest, 0, std::min(kTile, end - begin), run.operands[i], buffers[i]);
      tiles[i] = buffers[i];
    }
  for (int64_t start = begin; start < end; start += kTile) {
    const int64_t count = std::min(kTile, end - start);
    for (size_t i = 0; i < plan.feeds.size(); ++i) {
      const Feed& feed = plan.feeds[i];
      int64_t at = 0;
      if (feed.single && !feed.in_order) continue;
      if (consecutive(feed, start, count, at)) {
        tiles[i] = run.operands[i] + at * feed.element;
        continue;
      }
      feed.copy(feed.nest, start, count, run.operands[i], buffers[i]);
      tiles[i] = buffers[i];
    }
    plan.function(tiles, run.results[0] + start * plan.result_element, count);
  }
}

}  // namespace

Kernel prepare_elementwise(const std::vector<LocalTensor>& operands, const LocalTensor& result,
                           TileFunction function) {
  check_invariant(operands.size() <= kMaxOperands, "an element-wise kernel has too many operands");
  check_invariant(!result.is_view(), "an element-wise kernel leaves no gaps in its result");
  ElementwisePlan plan;
  for (const LocalTensor& operand : operands) plan.feeds.push_back(feed_of(operand, result));
  plan.elements = result.elements();
  plan.result_element = size_of(result.type.dtype);
  plan.function = function;
  return [plan](const KernelRun& run) {
    parallel_ranges(plan.elements, plan.elements,
                    [&](int64_t begin, int64_t end) { compute(plan, run, begin, end); });
    return plan.elements;
  };
}

TileTypes tile_types(const KernelSite& site) {
  TileTypes types{{}, site.results[0].type.dtype};
  for (const LocalTensor& operand : site.operands) types.operands.push_back(operand.type.dtype);
  return types;
}

Kernel prepare_elementwise(const KernelSite& site, TileFunction function) {
  return prepare_elementwise(site.operands, site.results[0], function);
}

}  // namespace mtfc
