#pragma once
// Rules shared by the operations that assemble a dimension of their result from pieces of their operands':
// slice, pad, concat, shift, reverse. Elements move along that one dimension; values do not change.
//
// The moved dimension is a factor of kind kMoved. If no operand is split along it, a kernel picks what each
// device needs from what it holds. Otherwise the step is an exchange: the elements that another device needs,
// and no others, go from the operands' shards straight into the result's:
//
//   shift by 1 of [5] over p:2         device 0 holds [0,2), device 1 [2,5)
//   device 0: result [0,2) = fill, x0  device 1: result [2,5) = x1 (sent by device 0), x2, x3

#include <string>
#include <vector>

#include "core/graph/op_def.h"
#include "core/tensors/relayout.h"

namespace mtfc {

/// The factors of such an operation. `from` names the moved dimension of each operand, `to` that of the
/// result; every other dimension passes.
std::vector<Factor> piece_factors(const OpCall& call, std::span<const TensorType> results,
                                  const std::vector<std::string>& from, const std::string& to,
                                  std::vector<Piece> pieces, double fill = 0);

/// The dimensions of an operand with the dimension `dim` replaced by the attribute `to`. Without that
/// attribute, the dimension keeps its name. Throws OpError if `to` is not of size `size`, if the operand has
/// another dimension of its name, or if `to` is missing although the size changes.
Dims replaced_dim(const OpCall& call, const Dims& dims, const std::string& dim, int64_t size);

/// The kMoved factor among `factors`, or nullptr.
const Factor* moved_factor(const std::vector<Factor>& factors);

/// The map from elements of the operands to elements of the result.
class PieceMap {
 public:
  /// `operands` and `results` are global.
  PieceMap(const OpDef& op, const Attributes& attributes, std::span<const TensorType> operands,
           std::span<const TensorType> results);

  /// The number of elements that the region `to` of the result takes from the region `from` of an operand.
  int64_t common_elements(size_t operand, const Box& from, const Box& to) const;
  /// Appends these elements as runs between the two regions. Their order depends only on the arguments, so
  /// sender and receiver agree on it.
  void append_runs(size_t operand, const Box& from, const Box& to, std::vector<Run>& runs) const;
  /// True if the pieces make up the whole result. Otherwise the rest holds `fill`.
  bool covers_all() const { return covers_all_; }
  double fill() const { return moved_.fill; }

 private:
  void look(std::span<const TensorType> operands, const TensorType& result);

  Factor moved_;
  std::vector<std::vector<int>> positions_;  // per operand: the position of each of the result's dimensions
  bool covers_all_ = false;
};

}  // namespace mtfc
