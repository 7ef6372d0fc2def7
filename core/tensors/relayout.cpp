#include "core/tensors/relayout.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "core/diagnostics/error.h"
#include "core/tensors/residues.h"

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

constexpr int kNoAxis = -1;

// A digit of an element's position in a group, if positions are written as numbers of mixed radix: [b8/r+s] over
// r:2,s:2 has the digits {r, 2}, {s, 2}, {none, 2}. Each device holds one value of a digit that an axis splits, and
// all values of the others.
struct Digit {
  int axis = kNoAxis;
  int64_t size = 1;
};

// The digits of dimensions [begin, end), major first. Returns nothing if a dimension is split unevenly.
std::optional<std::vector<Digit>> digits_of(const Dims& dims, const Sharding& sharding,
                                            const ReshapeGroup& group, const Mesh& mesh) {
  std::vector<Digit> digits;
  for (size_t i = group.from_begin; i < group.from_end; ++i) {
    int64_t left = dims[i].size;
    for (const int axis : sharding.dims[i]) {
      if (left % mesh.size(axis) != 0) return std::nullopt;
      left /= mesh.size(axis);
      digits.push_back({axis, mesh.size(axis)});
    }
    const bool continues = !digits.empty() && digits.back().axis == kNoAxis;
    if (continues)
      digits.back().size *= left;
    else if (left > 1)
      digits.push_back({kNoAxis, left});
  }
  return digits;
}

// Distributes digits over dimensions of other sizes.
class DigitReader {
 public:
  explicit DigitReader(std::vector<Digit> digits) : digits_(std::move(digits)) {}

  // Takes the digits of a dimension of `size` elements. Sets `axes` to the axes that split it. Returns false if the
  // digits do not add up to the size, or if an axis splits a digit that is not the leading one.
  bool take(int64_t size, AxisList& axes) {
    bool leads = true;
    while (size > 1) {
      if (next_ == digits_.size()) return false;
      Digit& digit = digits_[next_];
      if (digit.axis != kNoAxis && (!leads || size % digit.size != 0)) return false;
      if (digit.axis != kNoAxis) {
        axes.push_back(digit.axis);
        size /= digit.size;
        ++next_;
        continue;
      }
      leads = false;
      const int64_t taken = std::min(size, digit.size);
      if (size % taken != 0 || digit.size % taken != 0) return is_free_from_here();
      size /= taken;
      digit.size /= taken;
      if (digit.size == 1) ++next_;
    }
    return true;
  }
  // True if no axis splits any digit that is left.
  bool is_free_from_here() const {
    return std::all_of(digits_.begin() + static_cast<std::ptrdiff_t>(next_), digits_.end(),
                       [](const Digit& digit) { return digit.axis == kNoAxis; });
  }

 private:
  std::vector<Digit> digits_;
  size_t next_ = 0;
};

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

int64_t common_elements(const Dims& from_dims, const Box& from, const Dims& to_dims, const Box& to,
                        const ReshapeGroup& group) {
  if (is_single(group)) {
    const Interval a = from[group.from_begin], b = to[group.to_begin];
    return std::max<int64_t>(0, std::min(a.end, b.end) - std::max(a.begin, b.begin));
  }
  const int64_t size =
      std::accumulate(from_dims.begin() + static_cast<std::ptrdiff_t>(group.from_begin),
                      from_dims.begin() + static_cast<std::ptrdiff_t>(group.from_end), int64_t{1},
                      [](int64_t product, const Dim& dim) { return product * dim.size; });
  return count_common({0, size}, residues_of(from_dims, from, group.from_begin, group.from_end),
                      residues_of(to_dims, to, group.to_begin, group.to_end));
}

int64_t common_elements(const Dims& from_dims, const Box& from, const Dims& to_dims, const Box& to) {
  int64_t count = 1;
  for (const ReshapeGroup& group : reshape_groups(from_dims, to_dims))
    count *= common_elements(from_dims, from, to_dims, to, group);
  return count;
}

bool carries(const Dims& from_dims, const Sharding& from, const Dims& to_dims, const Mesh& mesh,
             Sharding& to) {
  to = replicated(to_dims.size());
  for (const ReshapeGroup& group : reshape_groups(from_dims, to_dims)) {
    // Only dimensions of size 1 stand beside two of one size, and none of those is split.
    const size_t lead = leading(from_dims, group.from_begin, group.from_end);
    const size_t to_lead = leading(to_dims, group.to_begin, group.to_end);
    const bool same =
        lead < group.from_end && to_lead < group.to_end && from_dims[lead].size == to_dims[to_lead].size;
    bool only_lead_is_split = true;
    for (size_t i = group.from_begin; i < group.from_end; ++i)
      if (i != lead && !from.dims[i].empty()) only_lead_is_split = false;
    if (same && only_lead_is_split) {
      to.dims[to_lead] = from.dims[lead];
      continue;
    }
    std::optional<std::vector<Digit>> digits = digits_of(from_dims, from, group, mesh);
    if (!digits) return false;
    DigitReader reader(std::move(*digits));
    for (size_t i = group.to_begin; i < group.to_end; ++i)
      if (!reader.take(to_dims[i].size, to.dims[i])) return false;
    if (!reader.is_free_from_here()) return false;
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
      while (i == a && b < group.to_end && !relayout.to.window(b) && kept < axes.size() &&
             kept < relayout.to.dims[b].size() && axes[kept] == relayout.to.dims[b][kept]) {
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
