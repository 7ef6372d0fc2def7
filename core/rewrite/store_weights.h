#pragma once
// Weights in fewer bits, for generation, since most of the bytes that decode reads for a token are weights.
//
//   - bf16: the variable is bf16, rounded once when it is filled.
//   - int8: the variable is i8, and a variable of its own, `NAME.scale`, has an f32 for each of its rows: value = i8 *
//     scale. A row has the elements that a product adds up for one element of its result, or that a gather picks for
//     one index. The scale is the largest magnitude in the row divided by 127, but at least kLeastScale.
//
// Variables are stored so where every use allows it (ReadsStored): as an operand of an einsum of two tensors, and
// perhaps scalars, that contracts dimensions of both, or as the table of a gather. For int8, all uses must take the
// same rows. All others, such as biases and the scales of norms, stay f32, as does everything that is computed.
//
//   y = einsum(x, w)        ->  y = einsum(x, w, dtype f32) * w.scale
//   x = gather(table, id)   ->  x = cast(gather(table, id)) * gather(table.scale, id)

#include "core/model/model.h"

namespace mtfc {

/// A model that has `decode`, with its weights in this format. It does not train any more.
Model store_weights(Model model, WeightFormat format);

}  // namespace mtfc
