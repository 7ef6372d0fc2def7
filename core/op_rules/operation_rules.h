#pragma once
// Rules shared by many operations: checks of dtypes and of dimension lists, factors, counts, and gradients of
// broadcast operands. The files of core/ops/ compose their OpDef from these.
//
// Every check throws OpError and names the operand or the attribute to blame.

#include "core/graph/graph.h"
#include "core/graph/op_def.h"

namespace mtfc {

/// The most results that one operation may have. Without a limit, a large dimension would take all memory.
inline constexpr int64_t kMostResults = 65536;

/// Each operand has the dtype of the first one.
void require_same_dtype(const OpCall& call);
/// Each operand is f32, f64 or bf16.
void require_floats(const OpCall& call);
/// Each operand is a number: anything but bool.
void require_numbers(const OpCall& call);
/// Each operand is bool.
void require_bools(const OpCall& call);
/// `dims` names no dimension twice.
void require_distinct(const Dims& dims, std::string_view attribute);
/// Each of `dims` is one of `known`. `owner` describes the owner of `known`, as in "f32[batch=5]".
void require_known(const Dims& dims, const Dims& known, const std::string& owner, std::string_view attribute);
/// The attribute `over`, which names dimensions of operand 0: at least one, and none twice.
const Dims& require_over(const OpCall& call);
/// The share `rate` of elements that are dropped is in [0, 1).
void require_rate(double rate, std::string_view attribute);
/// `dims` is a permutation of `expected`.
void require_permutation(const Dims& dims, const Dims& expected, std::string_view attribute);
/// `dtype` can hold `value`, which is that of `attribute`: no fraction for an integer, 0 or 1 for bool.
void require_value(double value, DType dtype, std::string_view attribute);
/// A tensor may have a dimension of `size` elements. `size` is computed in doubles, which do not wrap around; a size
/// that passes is exact in int64_t. `what` has that many elements along the dimension `dim`; `attribute` or `operand`
/// is to blame.
void require_size(double size, std::string_view what, const std::string& dim, std::string_view attribute,
                  int operand = -1);

/// The factor of the dimension `name`, with its positions in all operands and results.
Factor factor(std::string_view name, Factor::Kind kind, const OpCall& call,
              std::span<const TensorType> results, ReduceKind reduce = ReduceKind::kSum);
/// A kPass factor for every dimension of the first result.
std::vector<Factor> pass_factors(const OpCall& call, std::span<const TensorType> results);
/// For Family::kRelabel.
std::vector<Factor> no_factors(const OpCall& call, std::span<const TensorType> results);

/// Flops of an operation on one device: none, the number of elements of the first result, or that of the
/// first operand.
int64_t no_flops(const LocalCall& call, std::span<const LocalType> results);
int64_t result_elements(const LocalCall& call, std::span<const LocalType> results);
int64_t operand_elements(const LocalCall& call, std::span<const LocalType> results);

/// `gradient` summed over the dimensions that `dims` lacks, and transposed to the order of `dims`. It must
/// have all of `dims`.
TensorId reduce_to(GraphBuilder& b, TensorId gradient, const Dims& dims);
/// `tensor` broadcast and transposed to `dims`, which must have all of its dimensions.
TensorId spread_to(GraphBuilder& b, TensorId tensor, const Dims& dims);

}  // namespace mtfc
