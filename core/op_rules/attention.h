#pragma once
// Rules shared by attention and its gradient in core/ops/: softmax(q k) v, of queries to the positions of a memory.
//
// The dimensions of q, k and v give their meaning. `dim` is contracted between q and k, `over` is the memory. Other
// dimensions of k are batch dimensions, which q and v have too. Those of q that k lacks tell its queries apart, and
// v has one dimension of its own, the elements of a value; its name may be that of `dim`.

#include "core/graph/op_def.h"

namespace mtfc {

struct AttentionDims {
  Dims batch;    // in the order of q
  Dims queries;  // likewise
  Dim inner;     // `dim`
  Dim memory;    // `over`
  Dim value;
};

/// The attributes of attention, which its gradient has too.
std::vector<AttributeSpec> attention_attributes();

/// The operands 0 to 2 are q, k and v. Throws OpError if their dimensions do not fit together, or if the attributes
/// do not fit them.
AttentionDims attention_dims(const OpCall& call);
/// Throws OpError if operand `at` is given and is no mask: a bool with some of the dimensions of the scores.
void require_attention_mask(const OpCall& call, const AttentionDims& dims, size_t at);

/// The dimensions of what there is for each query, and of the result: those of q, with `last` in the place of
/// `dim`.
Dims query_dims(const Dims& q, const AttentionDims& dims);
Dims result_dims(const Dims& q, const AttentionDims& dims);

/// The pairs of a query and a position on one device. All count, also those that no query sees.
int64_t attention_pairs(const LocalCall& call);
/// About the share of all pairs that `causal` and `window` let queries see, which is what is computed.
double share_seen(const Attributes& attributes);
/// The sizes of `dim` and of a value on one device.
int64_t inner_size(const LocalCall& call);
int64_t value_size(const LocalCall& call);

}  // namespace mtfc
