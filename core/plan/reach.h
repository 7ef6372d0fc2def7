#pragma once
// Propagation: the axes that can split each dimension of each tensor (GShard, section 3.5).
//
// From the tensors whose shardings are fixed, lists of axes reach other tensors through the factors of operations, in
// both directions, until nothing changes. A dimension that several tensors of one operation share is one factor.
// Operations that move pieces, relabel or loop relate dimensions of different names. Lists pass through a tensor of
// fixed sharding, which may be resharded before it is read. Example: with x[batch/rows, io] fixed, y = einsum(x, w)
// over io gets batch/rows; w gets nothing.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/plan/flat_graph.h"
#include "core/tensors/mesh.h"
#include "core/tensors/sharding.h"

namespace mtfc {

/// Some of the lists of axes in AxisLists, one bit for each.
using ListSet = uint64_t;

/// All lists of axes that may split a dimension: those that rules and annotations name, and their beginnings.
class AxisLists {
 public:
  AxisLists() : lists_{{}} {}
  /// The list and its beginnings. Throws UserError if there are too many.
  ListSet with_prefixes(const AxisList& axes);
  const AxisList& operator[](size_t number) const { return lists_[number]; }
  /// The lists in `set`, the longest first, and the empty list at the end.
  std::vector<AxisList> in(ListSet set) const;

 private:
  size_t number(const AxisList& axes);

  std::vector<AxisList> lists_;  // the first one is empty
};

/// The shardings that are fixed or offered before anything is propagated.
struct Seeds {
  /// The sharding of a leaf, or of an annotated tensor; nothing where it is to be chosen.
  IndexedBy<FlatTensorId, std::optional<Sharding>> fixed;
  /// Lists that a tensor may have besides, such as those of the rules; empty, or one set per dimension.
  IndexedBy<FlatTensorId, std::vector<ListSet>> offered;
  /// Tensors that take only what they are offered.
  IndexedBy<FlatTensorId, bool> closed;
};

struct Reach {
  AxisLists lists;
  IndexedBy<FlatTensorId, std::vector<ListSet>> dims;  // per dimension; the empty list is understood
  IndexedBy<FlatTensorId, uint64_t> partial;           // axes over which the tensor may be partial sums
};

/// `factors`: of each node that computes, none for others. `lists` holds those of the seeds.
Reach propagate(const FlatGraph& graph, const Seeds& seeds,
                const IndexedBy<FlatNodeId, std::vector<Factor>>& factors, AxisLists lists, const Mesh& mesh);

/// The shardings that give each dimension one of the lists that reach it, or none, and use no axis twice. Those that
/// split more come first. Throws UserError if there are too many; `name` is the tensor's.
std::vector<Sharding> shardings_of(const std::vector<ListSet>& dims, const AxisLists& lists, const Mesh& mesh,
                                   const std::string& name);

}  // namespace mtfc
