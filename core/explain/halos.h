#pragma once
// The halos of a tensor: what each device must get from others before an operation with windows can run.
//
//   h of 9 over p, read by windows of 3 taps, stride 2, padding 1
//   shard  holds  reads  left  right  from
//   0      0..3   0..2      0      0  -
//   1      3..6   1..6      2      0  1 other
//   2      6..9   5..9      1      0  1 other

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/tensors/mesh.h"
#include "core/tensors/sharding.h"
#include "core/tensors/tensor_form.h"

namespace mtfc {

/// One shard of a dimension, and the region that windows read on the same device.
struct Halo {
  Interval holds;
  Interval reads;
  int64_t neighbours = 0;  // other shards that hold some of the region
  /// The elements of the region before and behind the shard.
  int64_t left() const;
  int64_t right() const;
};

struct DimHalos {
  size_t dim = 0;
  std::vector<Halo> shards;  // in the order of the shards
};

/// The halos of every dimension that windows split in `to` and the same axes split in `from`, two forms of one tensor.
std::vector<DimHalos> halos_between(const TensorForm& from, const TensorForm& to, const Mesh& mesh);

}  // namespace mtfc
