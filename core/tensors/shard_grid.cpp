#include "core/tensors/shard_grid.h"

#include <utility>

namespace mtfc {

ShardGrid::ShardGrid(const Dims& dims, const Sharding& sharding, const Mesh& mesh)
    : dims_(dims), sharding_(sharding), mesh_(mesh) {
  const AxisList split = split_axes(sharding);
  for (int axis = 0; axis < static_cast<int>(mesh.axes().size()); ++axis)
    if (!contains(split, axis)) free_.push_back(axis);
  std::vector<size_t> cut;
  for (size_t d = 0; d < dims.size(); ++d)
    if (mesh.size(sharding.dims[d]) > 1) cut.push_back(d);
  // The first split dimension runs down, unless it is the tensor's last; the others run across.
  for (const size_t d : cut) {
    const bool runs_down = d == cut.front() && (cut.size() > 1 || d + 1 < dims.size());
    Side& side = runs_down ? down_ : across_;
    side.dims.push_back(d);
    side.shards *= mesh.size(sharding.dims[d]);
  }
}

Coordinates ShardGrid::moved(Coordinates at, const Side& side, int64_t index) const {
  for (size_t i = side.dims.size(); i-- > 0;) {
    const AxisList& axes = sharding_.dims[side.dims[i]];
    const int64_t parts = mesh_.size(axes);
    at = mesh_.moved(std::move(at), axes, index % parts);
    index /= parts;
  }
  return at;
}

std::vector<Interval> ShardGrid::held(const Side& side, int64_t index) const {
  const Box box = local_box(dims_, sharding_, mesh_, moved(Coordinates(mesh_.axes().size(), 0), side, index));
  std::vector<Interval> intervals;
  for (const size_t d : side.dims) intervals.push_back(box[d]);
  return intervals;
}

int64_t ShardGrid::rank(int64_t row, int64_t column, int64_t holder) const {
  Coordinates at(mesh_.axes().size(), 0);
  at = moved(moved(std::move(at), down_, row), across_, column);
  return mesh_.rank(mesh_.moved(std::move(at), free_, holder));
}

std::vector<int64_t> drawn_shards(int64_t shards, int64_t most) {
  std::vector<int64_t> drawn;
  const bool all = shards <= most;
  for (int64_t i = 0; i < (all ? shards : most - 2); ++i) drawn.push_back(i);
  if (!all) drawn.insert(drawn.end(), {-1, shards - 1});
  return drawn;
}

}  // namespace mtfc
