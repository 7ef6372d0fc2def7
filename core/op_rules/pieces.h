#pragma once
// Operations that put a dimension of their result together from pieces of their operands': slice, pad,
// concat, shift, reverse. Elements move along that one dimension; their values do not change.
//
// The moved dimension is a factor of kind kPermuted. Where no operand is split along it, each device picks what
// it needs from what it has: a kernel. Otherwise the step is an exchange of exactly the elements that another
// device needs, from the operands' shards straight into the result's:
//
//   shift by 1 of [5] over p:2         device 0 holds [0,2), device 1 [2,5)
//   device 0: result [0,2) = fill, x0  device 1: result [2,5) = x1 (sent by device 0), x2, x3

#include <string>
#include <vector>

#include "core/graph/op_def.h"
#include "core/tensors/relayout.h"

namespace mtfc {

/// The dimension along which elements move.
struct MovedDim {
  std::vector<std::string> from;  // its name in each operand
  std::string to;                 // its name in the result
  std::vector<Piece> pieces;
  double fill = 0;  // the value of elements of the result that no piece covers
};

/// The factors of such an operation. All dimensions but the moved one pass.
std::vector<Factor> piece_factors(const OpCall& call, std::span<const TensorType> results,
                                  const MovedDim& dim);

/// The type of operand 0, whose elements move along its dimension `dim`. Throws OpError if it lacks that.
std::vector<TensorType> infer_moved(const OpCall& call);

/// The dimensions of an operand with the dimension `dim` replaced by the attribute `to`. Without that
/// attribute, the dimension keeps its name. Throws OpError if `to` is not of size `size`, if the operand has
/// another dimension of its name, or if `to` is missing although the size changes.
Dims replaced_dim(const OpCall& call, const Dims& dims, const std::string& dim, int64_t size);

/// The kPermuted factor among `factors`, or nullptr.
const Factor* moved_factor(const std::vector<Factor>& factors);

/// Says which elements of the operands become which elements of the result.
class PieceMap {
 public:
  /// `operands` and `results` are global.
  PieceMap(const OpDef& op, const Attributes& attributes, std::span<const TensorType> operands,
           std::span<const TensorType> results);

  /// The number of elements that the region `to` of the result takes from the region `from` of an operand.
  int64_t common_elements(size_t operand, const Box& from, const Box& to) const;
  /// The factor that the dimension `dim` of the result contributes to that number: `from` is a part of the operand's
  /// dimension that corresponds to it.
  int64_t common_along(size_t operand, size_t dim, Interval from, Interval to) const;
  /// The operand's dimension that corresponds to the dimension `dim` of the result.
  size_t operand_dim(size_t operand, size_t dim) const {
    return static_cast<size_t>(positions_[operand][dim]);
  }
  /// True for the dimension of the result along which elements move.
  bool moves(size_t dim) const { return static_cast<int>(dim) == moved_.results[0]; }
  /// The number of pieces that are taken from the operand.
  int64_t count(size_t operand) const;
  /// Appends these elements as runs between the two regions. Their order depends only on the arguments, so
  /// sender and receiver agree on it.
  void append_runs(size_t operand, const Box& from, const Box& to, std::vector<Run>& runs) const;
  /// True if pieces make up the whole result. The rest holds `fill`.
  bool covers_all() const { return covers_all_; }
  double fill() const { return moved_.fill; }

 private:
  void look(std::span<const TensorType> operands, const TensorType& result);

  Factor moved_;
  std::vector<std::vector<int>> positions_;  // per operand: where each dimension of the result is in it
  bool covers_all_ = false;
};

}  // namespace mtfc
