#pragma once
// The elements that a device sends when a tensor is resharded or relabelled, or when an operation moves pieces of its
// operands. They are counted without looking at each other device in turn.
//
// A device sends each element that it holds to every other member of its group that needs it. Regions are rectangular,
// so the number is a product over *lines*: groups of dimensions that correspond to each other in operand and result.
// Along each line, a device holds some elements that members of its group need (`wanted`), and some that it needs
// itself (`own`). It sends
//
//   product of `wanted` * the number of members that need the same elements - product of `own`
//
// Example over p:4, [a8/p, b8] to [a8, b8/p]: along a, a device holds 2 elements, both wanted and its own; along b, it
// holds 8 elements, all of them wanted and 2 of them its own. It sends 2*8 - 2*2 = 12 elements.

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/op_rules/pieces.h"
#include "core/program/program.h"
#include "core/tensors/relayout.h"

namespace mtfc {

/// The map of the pieces that `step` moves. The step is a kernel step of an operation that moves pieces, or
/// the exchange that replaces one.
PieceMap piece_map_of(const EntryPoint& entry, const Step& step);

/// A tensor on one side of a move. The references must outlive the objects below.
struct MovedTensor {
  const Dims& dims;
  const Sharding& sharding;
};

class SentElements {
 public:
  /// The devices that differ from the first one along these axes alone, itself included.
  struct Devices {
    Coordinates first;
    AxisList axes;
  };

  /// The change of one tensor's sharding, or a relabelling, within the groups over `axes`.
  SentElements(const MovedTensor& from, const MovedTensor& to, AxisList axes, const Mesh& mesh);
  /// An operation that moves pieces of its operands, within the groups over `axes`.
  SentElements(PieceMap pieces, const std::vector<MovedTensor>& operands, const MovedTensor& result,
               AxisList axes, const Mesh& mesh);

  /// The number of elements that the device at `at` sends.
  int64_t sent(const Coordinates& at) const;
  /// The elements that the devices `from` hold and the devices `to` need, a device's own included, added up over all
  /// pairs of these devices.
  int64_t pairs(const Devices& from, const Devices& to) const;
  /// The largest number that any device sends. If some 100,000 devices would have to be looked at, it is a bound that
  /// no device exceeds: no such program runs.
  int64_t most() const;
  /// Like most(), but a bound that no device exceeds if more than some 100 devices would have to be looked at. If
  /// windows split the result, it is always most(), since no good bound is known.
  int64_t most_or_bound() const;
  /// A bound on the elements that any device gets from others, of a tensor that windows split.
  int64_t most_received() const;
  /// True if no device sends anything. On meshes of thousands of devices, it may be false all the same.
  bool none() const;

 private:
  // Corresponding dimensions of an operand and the result, and the axes that split them on the two sides, major first.
  struct Line {
    ReshapeGroup dims;
    AxisList from_axes, to_axes;
    bool is_moved = false;                // by the operation, piece by piece
    const WindowSplit* window = nullptr;  // that splits the result's dimension
  };
  struct Operand {
    MovedTensor tensor;
    std::vector<Line> lines;
  };

  // The products of `wanted` and of `own` over some lines, for each operand; all different ones.
  using Amounts = std::vector<std::pair<int64_t, int64_t>>;
  using Variants = std::set<Amounts>;
  class Sample;

  void add_operand(const MovedTensor& from, std::vector<Line> lines);
  std::vector<AxisList> groups() const;
  Sample senders(const Operand& operand, const AxisList& group) const;
  Sample receivers(const Line& line) const;
  std::optional<std::vector<Variants>> variants() const;
  Amounts amounts(const AxisList& group, const Coordinates& at) const;
  static AxisList apart(const Sharding& sharding, size_t begin, size_t end, const AxisList& joined);
  Interval joint(const MovedTensor& tensor, size_t dim, const Devices& devices) const;
  // The number along the line for joint shards, and added up over all pairs.
  int64_t common(size_t operand, const Line& line, const Devices& from, const Devices& to) const;
  int64_t along(size_t operand, const Line& line, const Devices& from, const Devices& to) const;
  int64_t copies(const Sharding& sharding, const AxisList& axes) const;
  int64_t read_by_all(const Line& line, const Interval& held) const;
  int64_t most_wanted(size_t operand, const Line& line) const;
  int64_t least_own(size_t operand, const Line& line) const;
  int64_t bound() const;
  bool is_closed(const Line& line) const;
  Coordinates device(int64_t index) const;

  std::optional<PieceMap> pieces_;
  std::vector<Operand> operands_;
  MovedTensor result_;
  AxisList axes_;
  const Mesh& mesh_;
  int64_t receivers_ = 1;  // members that hold the same region of the result
  AxisList split_;         // axes on which devices may differ in what they send
  int64_t devices_ = 1;    // along split_
};

/// The elements that the collective that `step` starts sends; it must be of a kind that may send different elements to
/// each member (CostShare::kSent).
SentElements sent_elements(const EntryPoint& entry, const Step& step, const Mesh& mesh);
/// The same within groups over `axes`.
SentElements sent_elements(const EntryPoint& entry, const Step& step, const AxisList& axes, const Mesh& mesh);
/// The elements that devices would send for the operation of `step`, which moves pieces, in groups over `axes`.
SentElements moved_pieces(const EntryPoint& entry, const Step& step, const AxisList& axes, const Mesh& mesh);

}  // namespace mtfc
