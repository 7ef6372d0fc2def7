#include "core/tensors/relayout.h"

#include <algorithm>

#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

// The dimensions [begin, end) of a shape, with the region that a device holds of them.
struct Part {
  const Dims& dims;
  const Box& box;
  size_t begin, end;

  int64_t local_elements() const {
    int64_t count = 1;
    for (size_t i = begin; i < end; ++i) count *= box[i].size();
    return count;
  }
};

// The region as ascending intervals of the part's flat (global, row-major) index space; neighbours are
// merged.
std::vector<Interval> flat_intervals(const Part& part) {
  std::vector<Interval> intervals{{0, 1}};
  for (size_t i = part.begin; i < part.end; ++i) {
    const int64_t size = part.dims[i].size;
    const Interval held = part.box[i];
    std::vector<Interval> finer;
    for (const Interval& outer : intervals) {
      // A fully held dimension widens the outer interval; any other gives each outer index an interval of its
      // own.
      if (held.size() == size) {
        finer.push_back({outer.begin * size, outer.end * size});
        continue;
      }
      for (int64_t index = outer.begin; index < outer.end; ++index)
        if (held.size() > 0) finer.push_back({index * size + held.begin, index * size + held.end});
    }
    intervals = std::move(finer);
  }
  return intervals;
}

// Calls visit(from, to, length) for the common stretches of two ascending interval lists. Offsets are counted
// within each list.
template <typename Visit>
void intersect(const std::vector<Interval>& from, const std::vector<Interval>& to, Visit visit) {
  int64_t from_offset = 0, to_offset = 0;
  for (size_t i = 0, j = 0; i < from.size() && j < to.size();) {
    const int64_t begin = std::max(from[i].begin, to[j].begin);
    const int64_t end = std::min(from[i].end, to[j].end);
    if (begin < end) visit(from_offset + begin - from[i].begin, to_offset + begin - to[j].begin, end - begin);
    if (from[i].end < to[j].end)
      from_offset += from[i++].size();
    else
      to_offset += to[j++].size();
  }
}

std::vector<Run> group_runs(const Part& from, const Part& to) {
  std::vector<Run> runs;
  intersect(flat_intervals(from), flat_intervals(to), [&](int64_t a, int64_t b, int64_t length) {
    if (!runs.empty() && runs.back().from + runs.back().length == a &&
        runs.back().to + runs.back().length == b)
      runs.back().length += length;
    else
      runs.push_back({a, b, length});
  });
  return runs;
}

// The runs of an outer group, each of whose elements is a whole inner region with runs of its own.
std::vector<Run> nested(const std::vector<Run>& outer, const std::vector<Run>& inner, int64_t inner_from,
                        int64_t inner_to) {
  std::vector<Run> runs;
  const bool whole = inner.size() == 1 && inner[0].length == inner_from && inner[0].length == inner_to;
  for (const Run& run : outer) {
    if (whole) {
      runs.push_back({run.from * inner_from, run.to * inner_to, run.length * inner_from});
      continue;
    }
    for (int64_t k = 0; k < run.length; ++k)
      for (const Run& part : inner)
        runs.push_back(
            {(run.from + k) * inner_from + part.from, (run.to + k) * inner_to + part.to, part.length});
  }
  return runs;
}

// The first dimension of a group that is longer than 1. Splitting it cuts the group into contiguous
// stretches.
size_t leading(const Dims& dims, size_t begin, size_t end) {
  while (begin + 1 < end && dims[begin].size == 1) ++begin;
  return begin;
}

// True if `parts` shards of a leading dimension of size `a` hold the same stretches of the group as `parts`
// shards of one of size `b`.
bool aligned(int64_t a, int64_t b, int64_t parts) {
  return a == b || (a % parts == 0 && b % parts == 0);
}

bool is_single(const ReshapeGroup& group) {
  return group.from_end - group.from_begin == 1 && group.to_end - group.to_begin == 1;
}

}  // namespace

std::vector<ReshapeGroup> reshape_groups(const Dims& from, const Dims& to) {
  std::vector<ReshapeGroup> groups;
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    ReshapeGroup group{i, i + 1, j, j + 1};
    int64_t left = from[i++].size, right = to[j++].size;
    while (left != right) {
      if (left < right)
        left *= from[i++].size;
      else
        right *= to[j++].size;
    }
    group.from_end = i;
    group.to_end = j;
    groups.push_back(group);
  }
  // The dimensions that are left over have size 1; the last group takes them.
  if (groups.empty() && (i < from.size() || j < to.size())) groups.push_back({0, 0, 0, 0});
  if (!groups.empty()) {
    groups.back().from_end = from.size();
    groups.back().to_end = to.size();
  }
  return groups;
}

std::vector<Run> common_runs(const Dims& from_dims, const Box& from, const Dims& to_dims, const Box& to) {
  std::vector<Run> runs{{0, 0, 1}};
  int64_t from_inner = 1, to_inner = 1;
  const std::vector<ReshapeGroup> groups = reshape_groups(from_dims, to_dims);
  for (size_t g = groups.size(); g-- > 0;) {
    const Part a{from_dims, from, groups[g].from_begin, groups[g].from_end};
    const Part b{to_dims, to, groups[g].to_begin, groups[g].to_end};
    runs = nested(group_runs(a, b), runs, from_inner, to_inner);
    from_inner *= a.local_elements();
    to_inner *= b.local_elements();
  }
  return runs;
}

int64_t common_elements(const Dims& from_dims, const Box& from, const Dims& to_dims, const Box& to) {
  int64_t count = 1;
  for (const ReshapeGroup& group : reshape_groups(from_dims, to_dims)) {
    int64_t common = 0;
    if (is_single(group)) {
      const Interval a = from[group.from_begin], b = to[group.to_begin];
      common = std::max<int64_t>(0, std::min(a.end, b.end) - std::max(a.begin, b.begin));
    } else {
      intersect(flat_intervals({from_dims, from, group.from_begin, group.from_end}),
                flat_intervals({to_dims, to, group.to_begin, group.to_end}),
                [&](int64_t, int64_t, int64_t length) { common += length; });
    }
    count *= common;
  }
  return count;
}

bool carries(const Dims& from_dims, const Sharding& from, const Dims& to_dims, const Mesh& mesh,
             Sharding& to) {
  to = replicated(to_dims.size());
  for (const ReshapeGroup& group : reshape_groups(from_dims, to_dims)) {
    if (is_single(group)) {
      to.dims[group.to_begin] = from.dims[group.from_begin];
      continue;
    }
    const size_t lead = leading(from_dims, group.from_begin, group.from_end);
    for (size_t i = group.from_begin; i < group.from_end; ++i)
      if (i != lead && !from.dims[i].empty()) return false;
    if (lead >= group.from_end || from.dims[lead].empty()) continue;
    const size_t to_lead = leading(to_dims, group.to_begin, group.to_end);
    const int64_t parts = mesh.size(from.dims[lead]);
    if (to_lead >= group.to_end || !aligned(from_dims[lead].size, to_dims[to_lead].size, parts)) return false;
    to.dims[to_lead] = from.dims[lead];
  }
  to.partial = from.partial;
  return true;
}

AxisList moving_axes(const Relayout& relayout, const Mesh& mesh) {
  AxisList moving;
  for (const ReshapeGroup& group : reshape_groups(relayout.from_dims, relayout.to_dims)) {
    const size_t a = leading(relayout.from_dims, group.from_begin, group.from_end);
    const size_t b = leading(relayout.to_dims, group.to_begin, group.to_end);
    for (size_t i = group.from_begin; i < group.from_end; ++i) {
      const AxisList& axes = relayout.from.dims[i];
      size_t kept = 0;
      int64_t parts = 1;
      // A common prefix of the leading dimensions' axes need not move, since shards nest.
      while (i == a && b < group.to_end && kept < axes.size() && kept < relayout.to.dims[b].size() &&
             axes[kept] == relayout.to.dims[b][kept]) {
        parts *= mesh.size(axes[kept]);
        if (!aligned(relayout.from_dims[a].size, relayout.to_dims[b].size, parts)) break;
        ++kept;
      }
      moving.insert(moving.end(), axes.begin() + static_cast<std::ptrdiff_t>(kept), axes.end());
    }
  }
  std::sort(moving.begin(), moving.end());
  return moving;
}

}  // namespace mtfc
