#include "core/explain/halos.h"

#include <algorithm>

namespace mtfc {
namespace {

// The number of shards, other than `own`, that hold an element of the region.
int64_t other_holders(const Interval& region, int64_t size, int64_t parts, int64_t own) {
  if (region.size() <= 0) return 0;
  int64_t others = 0;
  const int64_t last = shard_of(size, parts, region.end - 1);
  for (int64_t part = shard_of(size, parts, region.begin); part <= last; ++part)
    if (part != own && shard_interval(size, parts, part).size() > 0) ++others;
  return others;
}

}  // namespace

int64_t Halo::left() const {
  return std::max<int64_t>(0, std::min(reads.end, holds.begin) - reads.begin);
}

int64_t Halo::right() const {
  return std::max<int64_t>(0, reads.end - std::max(reads.begin, holds.end));
}

std::vector<DimHalos> halos_between(const TensorForm& from, const TensorForm& to, const Mesh& mesh) {
  std::vector<DimHalos> found;
  if (from.dims() != to.dims()) return found;
  for (const WindowSplit& window : to.sharding().windows) {
    const AxisList& axes = to.sharding().dims[window.dim];
    if (from.sharding().dims[window.dim] != axes) continue;
    const int64_t size = to.dims()[window.dim].size, parts = mesh.size(axes);
    DimHalos halos{window.dim, {}};
    for (int64_t part = 0; part < parts; ++part) {
      const Interval reads = window.region(size, shard_interval(window.size, parts, part));
      halos.shards.push_back(
          {shard_interval(size, parts, part), reads, other_holders(reads, size, parts, part)});
    }
    found.push_back(std::move(halos));
  }
  return found;
}

}  // namespace mtfc
