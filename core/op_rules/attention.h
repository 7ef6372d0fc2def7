#pragma once
// Rules shared by attention and its gradient in core/ops/: softmax(q k) v, of queries to the positions of a memory.
//
// The dimensions of q, k and v give their meaning. `dim` is contracted between q and k, `over` is the memory. Other
// dimensions of k are batch dimensions, which q and v have too. Those of q that k lacks tell its queries apart, and
// v has one dimension of its own, the elements of a value; its name may be that of `dim`. A bias, with some of the
// dimensions of the scores, is added to them: what a relative position is worth, say.

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/graph/op_def.h"

namespace mtfc {

struct FamilyMember;

struct AttentionDims {
  Dims batch;    // in the order of q
  Dims queries;  // likewise
  Dim inner;     // `dim`
  Dim memory;    // `over`
  Dim value;
};

/// The attributes of attention and of its gradients.
std::vector<AttributeSpec> attention_attributes();
/// Attention or one of its gradients.
OpDef attention(FamilyMember member);

/// The operands 0 to 2 are q, k and v. Throws OpError if their dimensions do not fit together, or if the attributes
/// do not fit them.
AttentionDims attention_dims(const OpCall& call);

/// The operands that only some attentions have, by their indices and in this order; or none. The bias is a float of the
/// type of q with some of the dimensions of the scores, which is added to them. The mask is a bool with some of their
/// dimensions, true where a position is seen. With dropout, there is an i64 for each query, from which the kernel makes
/// the draws of its weights: weight i of the query is dropped if draw i of the query is below the rate
/// (runtime/compute/dropout_draws.h).
struct AttentionExtras {
  std::optional<size_t> bias, mask, draws;
};
/// `first`: the index of the first such operand.
AttentionExtras attention_extras(const OpCall& call, size_t first);
/// The number by which the scores q k are multiplied.
double score_scale(const Attributes& attributes);
/// Above 0: a score s becomes cap * tanh(s / cap) before a bias is added (Gemma 2, 2024). 0: scores stay as they are.
double score_cap(const Attributes& attributes);
/// The share of weights that are dropped; the others grow by 1 / (1 - rate). 0: there is no dropout.
double dropout_rate(const Attributes& attributes);
/// Throws OpError if the operands from `first` on are not these.
void require_attention_extras(const OpCall& call, const AttentionDims& dims, size_t first);

/// The operands of the gradients of an attention after q, k and v: its second result; for each query, the sum of the
/// gradient of the first result times that result; and the gradient of the first result. The others follow.
struct AttentionGradientOperands {
  static constexpr size_t kTotal = 3, kDelta = 4, kGiven = 5, kExtras = 6;
};
/// Throws OpError if the operands of a gradient are not these.
void require_attention_gradient(const OpCall& call, const AttentionDims& dims);

/// The dimensions of a tensor with one element for each query: those of q without `dim`.
Dims query_dims(const Dims& q, const AttentionDims& dims);
/// The type of the result with one element for each query, the logarithm of a sum: f32 for bf16 operands.
TensorType per_query_type(const TensorType& q, const AttentionDims& dims);
/// The dimensions of the result: those of q, with the elements of a value in the place of `dim`.
Dims result_dims(const Dims& q, const AttentionDims& dims);

/// The sizes on one device: those of the products at one position of the batch, and the number of such positions.
struct AttentionSizes {
  int64_t batch = 1, queries = 1, memory = 1, inner = 1, value = 1;
  int64_t counted = 1;  // positions of the memory that count for a query
  /// The pairs of a query and a position of the memory that count. With a window, so many positions count as it has;
  /// without one all do, even where the query does not see the position.
  int64_t pairs() const { return batch * queries * counted; }
};
AttentionSizes attention_sizes(const LocalCall& call);
/// The same for the gradient of q, k and v. Queries that belong to another device, next to the own ones, do not count.
AttentionSizes attention_gradient_sizes(const LocalCall& call, std::span<const LocalType> results);
/// Kernels compute the scores of so many queries together, to all positions that some of them see.
inline constexpr int64_t kQueriesTogether = 64;
/// The pairs that `causal` and `window` let queries see, relative to the pairs of the whole tensors that count.
double share_seen(const Attributes& attributes);
/// The pairs that the queries of the last device see in its part of the memory, relative to its pairs that count.
double share_seen(const LocalCall& call);
/// About the number of pairs that the kernel of the last device computes, relative to its pairs that count. It can be
/// above 1, since kernels compute the scores of all positions that one of several queries sees.
double share_computed(const LocalCall& call);

/// A factor of `kind` for each of these dimensions, and of kNeedsReplication for `dim` and for the elements of a value,
/// in this order.
std::vector<Factor> attention_factors(const OpCall& call, std::span<const TensorType> results,
                                      const std::vector<std::pair<Dims, Factor::Kind>>& kinds);

/// The factors of attention, or of its gradient for q, k and v, where queries may see only what is near. A query of a
/// `window` reads the memory as the place of a convolution reads an image. If the memory has a position for each query,
/// one factor splits both, in place of the factors of each, and devices exchange what is near the ends of their shards.
/// With a mask or a bias that has both dimensions, the factors are those given.
///
///   4 queries, window 2, causal, over x:2:   k and v of the second device are [1,4); for the gradients of k and v, the
///   queries of the first one are [0,3)
std::vector<Factor> with_near_memory(std::vector<Factor> factors, const OpCall& call,
                                     std::span<const TensorType> results);

/// For examples: an attention over m=7 that contracts k=3, with these attributes besides.
Example attention_example(std::vector<ExampleOperand> operands, const Attributes& more = {});

}  // namespace mtfc
