#pragma once
// A tensor as a matrix cut into its shards, as Mesh-TensorFlow's appendix A draws it: some of the split dimensions run
// down, the others across.
//
//   h[batch 4, hidden 8] on rows:2,cols:2              hidden 0-3  hidden 4-7
//   batch over rows runs down,           batch 0-1      rank 0      rank 1
//   hidden over cols across              batch 2-3      rank 2      rank 3

#include <cstdint>
#include <vector>

#include "core/tensors/mesh.h"
#include "core/tensors/shape.h"
#include "core/tensors/sharding.h"

namespace mtfc {

class ShardGrid {
 public:
  /// The shards along one side: all combinations of the pieces of its dimensions, the first dimension major.
  struct Side {
    std::vector<size_t> dims;  // positions in the tensor
    int64_t shards = 1;
  };

  ShardGrid(const Dims& dims, const Sharding& sharding, const Mesh& mesh);

  const Side& down() const { return down_; }
  const Side& across() const { return across_; }
  /// The interval of each of the side's dimensions that shard `index` of the side holds.
  std::vector<Interval> held(const Side& side, int64_t index) const;
  /// The number of devices that hold each shard. If the tensor is partial, they hold parts of its sum instead of
  /// copies.
  int64_t holders() const { return mesh_.size(free_); }
  /// The rank of the device that is number `holder` of those that hold a shard.
  int64_t rank(int64_t row, int64_t column, int64_t holder) const;

 private:
  Coordinates moved(Coordinates at, const Side& side, int64_t index) const;

  Dims dims_;
  Sharding sharding_;
  Mesh mesh_;
  AxisList free_;  // the axes that split nothing
  Side down_, across_;
};

/// The shards of a side that are drawn if there is room for `most` (at least 3): all, or the first, -1 for a gap, and
/// the last.
std::vector<int64_t> drawn_shards(int64_t shards, int64_t most);

}  // namespace mtfc
