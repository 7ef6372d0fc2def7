#pragma once
// The definition of an operation: a constant of a file of core/ops/, or a row in a table of short ones
// (core/op_tables/). A function of its family (core/op_rules/family.h) makes it.
//
// An operation is written once. Its Signature gives the reader's checks, `mtfc ops` and the schema; its
// `roles` drive the partitioner and the propagation of shardings; its `gradient` is written in terms of other
// operations; its `examples` feed the tests over the registry. Its kernel has the same file name in
// runtime/kernels/, or is a row in runtime/kernel_tables/. Composites (core/composites/) have a Signature and expand
// into operations; they have no kernel.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/graph/attributes.h"
#include "core/tensors/ids.h"
#include "core/tensors/shape.h"
#include "core/tensors/sharding.h"

namespace mtfc {

class GraphBuilder;
struct Node;
/// The position of a tensor in its graph.
using TensorId = Id<struct TensorTag>;
inline constexpr TensorId kNoTensor;
/// One element for each tensor of a graph.
template <typename T>
using PerTensor = IndexedBy<TensorId, T>;

/// One use of an operation on whole tensors: its attributes and the types of its operands.
struct OpCall {
  const Attributes& attributes;
  std::span<const TensorType> operands;
};

/// The same use on one device, which holds shards of the operands. Sizes in the attributes are global.
struct LocalCall {
  const Attributes& attributes;
  std::span<const LocalType> operands;
};

/// Thrown by `infer` for a wrong use of an operation; what() says what is wrong. The caller adds the location.
struct OpError : Error {
  explicit OpError(const std::string& message, std::string advice = "", int to_blame = -1,
                   std::string attribute_to_blame = "");
  ~OpError() override;
  std::string hint;
  int operand;            // the operand to blame, or -1
  std::string attribute;  // the attribute to blame, or ""
};

/// The distribution from which test data for an operand are drawn.
enum class Fill {
  kNormal,    // standard normal
  kPositive,  // uniform in [0.5, 2]; integers are 1 or 2
  kSteps,     // small integers, so that values tie
  kIndex,     // integers in [0, limit)
  kBool,
};

struct ExampleOperand {
  TensorType type;
  Fill fill = Fill::kNormal;
  int64_t limit = 0;  // for Fill::kIndex
};

/// A small use of an operation for the tests over the registry and for `mtfc ops`.
struct Example {
  std::vector<ExampleOperand> operands;
  Attributes attributes;
};

/// A tensor with given elements, in row-major order.
struct KnownTensor {
  TensorType type;
  std::vector<double> elements;
};

/// A use of an operation whose results were worked out by hand. `mtfc ops` prints it, and a test compares the results
/// with those that mtfc computes.
struct WorkedExample {
  std::vector<KnownTensor> operands;
  Attributes attributes;
  std::vector<std::vector<double>> results;  // row-major
};

/// An operand whose dtype is independent of the others': indices, a position, a condition. A literal in its
/// place gets the dtype `literal`, and its dtype does not decide that of literals in other places.
struct OwnDType {
  int operand = 0;
  DType literal = DType::kI32;
};

struct Signature {
  std::string_view name;
  std::string_view doc;  // one sentence
  int min_operands = 1;
  int max_operands = 1;  // -1: any number
  std::vector<AttributeSpec> attributes = {};
  std::vector<OwnDType> own_dtypes = {};
  /// Result types. Throws OpError. Operand counts and attribute types have been checked before.
  std::vector<TensorType> (*infer)(const OpCall&);
  std::vector<Example> examples;
  /// Required of an operation, unless runtime/compute/kernel_test.cpp defines it a second time or exempts it.
  std::vector<WorkedExample> worked = {};
};

enum class Family {
  kElementwise,         // result[i] from operand[i], aligned by name; may be computed in place
  kElementwiseChecked,  // the same, but operands are checked first and may be refused: never part of a
                        // fused step
  kReduction,
  kContraction,  // einsum: its flops are "einsum" flops
  kAttention,    // products of einsums that are never held: their flops are "einsum" flops too
  kConvolution,  // products of a filter and what its window reads: their flops are "einsum" flops too
  kPooling,      // a window reads elements, and combines, picks or spreads them
  kRelabel,      // the same elements in the same row-major order under other dimensions: never computes
  kIndexing,
  kMovement,   // elements move, values do not change
  kGenerator,  // no operands
};

/// A part of an operand's dimension that becomes a part of the result's. For i in [0, count), the operand's
/// element from + i*from_step becomes the result's element to + i*to_step. to_step > 0.
struct Piece {
  int operand = 0;
  int64_t from = 0;
  int64_t from_step = 1;
  int64_t to = 0;
  int64_t to_step = 1;
  int64_t count = 0;
};

/// A dimension of an operand that a factor's dimension reads through a window.
struct OperandWindow {
  int operand = 0;
  WindowSplit split;
};

/// One dimension of the computation and its positions in operands and results. Dimensions of one name are one
/// factor.
struct Factor {
  enum class Kind {
    kPass,    // split it, and each device computes its shard alone
    kReduce,  // split it, and each device holds a partial result of kind `reduce`, or its shard of a result
              // that has the dimension
    kNeedsReplication,  // every device needs all of it
    kPermuted,  // the result's dimension consists of `pieces` of the operands': split either side, and devices
                // exchange the elements that move (core/op_rules/pieces.h)
  };
  Kind kind = Kind::kPass;
  std::vector<int> operands;  // position of the factor's dimension in each operand, -1 where absent
  std::vector<int> results;   // likewise in each result
  ReduceKind reduce = ReduceKind::kSum;
  std::vector<Piece> pieces = {};  // for kPermuted
  double fill = 0;                 // the value of elements of the result that no piece gives
  int64_t parts = 0;               // above 0: a multiple of the number of shards (core/op_rules/parts.h)
  // Dimensions of operands that this factor reads through windows. Axes that split the factor split these too, with
  // halos
  std::vector<OperandWindow> windows = {};
};

/// The second operand that makes the first the result; the first operand likewise, if `on_either_side`.
struct NeutralElement {
  double value = 0;
  bool on_either_side = false;
};

/// Says if the elements of the result are those of the only operand, unchanged.
enum class Copies {
  kNothing,    // they are others, or not all of them
  kOperand,    // they are, in the same dimensions
  kReordered,  // they are, under the same names of dimensions, whose order may differ
  kSpread,     // the same, and they are repeated along dimensions that the operand lacks
};

/// Says how an operation reads a weight that is stored in fewer bits (core/rewrite/store_weights.h).
enum class ReadsStored {
  kNever,   // it needs the weight in f32
  kWidens,  // it multiplies two tensors, and widens the one that is stored if its attribute `dtype` is f32
  kPicks,   // its result has elements of operand 0, unchanged unless it adds some up or multiplies them
};

/// Facts that passes and the runtime ask for instead of asking for a name. {} states that none of them holds.
struct OpTraits {
  std::optional<NeutralElement> neutral = std::nullopt;
  Copies copies = Copies::kNothing;
  ReadsStored reads_stored = ReadsStored::kNever;
  /// A reduction that divides by the number of elements that it adds up: over parts of equal size, the mean of
  /// its results is its result over the whole.
  bool averages = false;
  /// The result is the product of the operands, or a sum of such products: rounding errors multiply.
  bool multiplies = false;
  /// Every element of the result is the attribute `value`.
  bool is_constant = false;
  /// The elements are random: they depend on the name of the result, so two nodes never compute the same.
  bool is_drawn = false;
  /// The operand that counts along the dimension `dim` of operand 0, which is read or written there; or -1.
  int position_operand = -1;
  /// An element takes another time than that of an addition, so calibration measures it by itself.
  bool own_pace = false;
  /// The kernel may write its result over an operand that has the result's type and sharding, and then leaves
  /// alone what it does not change. Element-wise operations may without saying so.
  bool overwrites = false;
  /// A contraction of two operands whose kernel takes boxes of operands and adds to its result: it may run as a ring
  /// (core/program/ring.h).
  bool can_turn = false;
  /// The result is the operand in another dtype. It is linear where that loses nothing, from a float to a wider one,
  /// and where its flag kRoundsTerms allows a loss.
  bool converts = false;
  /// The kernel knows no bf16: it computes in f32, on copies of bf16 operands and results in the workspace.
  bool in_f32 = false;
};

/// Adds operations that compute the gradient of each operand (kNoTensor: none) from the gradients of the results
/// (kNoTensor: zero).
using GradientRule = std::vector<TensorId> (*)(GraphBuilder&, const Node&,
                                               std::span<const TensorId> result_gradients);

struct OpDef {
  Signature signature;
  Family family;

  /// The factors of a call. Empty for Family::kRelabel, whose dimensions the partitioner matches by element
  /// order.
  std::vector<Factor> (*roles)(const OpCall&, std::span<const TensorType> results);

  /// Sets of operands that may all be sum-partial over the same axes while the others are whole, giving a
  /// sum-partial result: {{0, 1}} for add, {{0}, {1}} for mul, {{kEveryOperand}} for concat, which is the
  /// set of all operands, and {{kEachOperand}} for einsum, which is one set for each operand. Read the sets with
  /// linear_sets(). If empty, all operands must be whole. A kPermuted factor with a `fill` other than 0 needs whole
  /// operands in any case.
  std::vector<std::vector<int>> linear_in;

  /// nullptr, spelled kNoGradient: not differentiable.
  GradientRule gradient;

  /// The arithmetic operations of one device.
  int64_t (*flops)(const LocalCall&, std::span<const LocalType> results);

  /// Scratch bytes that the kernel needs on one device. nullptr, spelled kNoWorkspace: none.
  int64_t (*workspace)(const LocalCall&, std::span<const LocalType> results);

  /// For a split kNeedsReplication factor: gives the same results by other operations that can run split (argmax
  /// becomes a reduction of (value, index) pairs). The dimension is split into `parts` shards. nullptr, spelled
  /// kNoSplitRule: operands are gathered instead.
  std::vector<TensorId> (*split_rule)(GraphBuilder&, const Node&, int64_t parts);

  OpTraits traits;
};

/// The dtype in which an operation computes a tensor of `dtype`.
inline DType in_kernel(const OpDef& op, DType dtype) {
  return op.traits.in_f32 ? computed_dtype(dtype) : dtype;
}

/// The workspace of a kernel on one device: first what the operation's `workspace` asks for, in the dtypes that it
/// computes in, then the copies of operands and of results that it computes in another dtype, each at an aligned
/// offset.
struct KernelWorkspace {
  int64_t own = 0;                         // bytes
  std::vector<int64_t> operands, results;  // offsets of copies; -1 where there is none
  int64_t bytes = 0;
};
KernelWorkspace kernel_workspace(const OpDef& op, const LocalCall& call, std::span<const LocalType> results);

/// The sets of `linear_in` for a call, each a list of operands. A set that names an operand that the call leaves out is
/// not among them.
std::vector<std::vector<int>> linear_sets(const OpDef& op, const OpCall& call);

/// The flag of a conversion between floats by which each device may round its term of a sum, before they are added up.
inline constexpr const char* kRoundsTerms = "rounds_terms";

/// Sets the axes of the factor's dimension in the operands: in those that have it, and by windows in those that it
/// reads.
void split_operands(const Factor& factor, const AxisList& axes, std::vector<Sharding>& operands);
/// True if two factors split the same dimension of an operand, which only one can: the places and the taps of a window.
bool splits_twice(const std::vector<Factor>& factors, const std::vector<AxisList>& axes_by_factor);

inline bool is_elementwise(const OpDef& op) {
  return op.family == Family::kElementwise || op.family == Family::kElementwiseChecked;
}
/// True if the flops of the operation are those of matrix products.
inline bool is_product(const OpDef& op) {
  return op.family == Family::kContraction || op.family == Family::kAttention ||
         op.family == Family::kConvolution;
}
inline bool may_overwrite_operand(const OpDef& op) {
  return is_elementwise(op) || op.traits.overwrites;
}

inline constexpr int kEveryOperand = -1;
inline constexpr int kEachOperand = -2;
inline constexpr std::nullptr_t kNoGradient = nullptr;
inline constexpr std::nullptr_t kNoWorkspace = nullptr;
inline constexpr std::nullptr_t kNoSplitRule = nullptr;

/// An operation that takes the place of a composite and has as many results.
struct StandIn {
  std::string_view op;
  std::vector<TensorId> operands;
  Attributes attributes = {};
};

inline constexpr std::nullptr_t kGradientOfParts = nullptr;
inline constexpr std::nullptr_t kAsInTraining = nullptr;

struct CompositeDef {
  Signature signature;
  /// The results in terms of operations.
  std::vector<TensorId> (*expand)(GraphBuilder&, const Node&);
  /// Like OpDef::gradient, in terms of the composite's own operands and results. Given where this keeps less
  /// for the backward pass than differentiating the expansion does.
  GradientRule gradient = kGradientOfParts;
  /// The operation that gives the results in evaluation and decoding, where they are others than in training.
  StandIn (*in_evaluation)(const Node&) = kAsInTraining;
  /// It is expanded in f32 in place of bf16: its operands are cast, and its results cast back. Its own gradient reads
  /// the results as they are rounded (core/rewrite/expand_gradients.cpp), and so only multiplies by them.
  bool in_f32 = false;
  /// Its first operand are logits, which mixed precision (core/rewrite/mix_precision.h) keeps in f32.
  bool reads_logits = false;
  /// Its result is a distribution, which no operation should read as logits.
  bool gives_distribution = false;
};

}  // namespace mtfc
