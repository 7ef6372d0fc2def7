#pragma once
// The operations of a random case: each function adds one operation or a few to the draft, or nothing where no
// tensor there fits.

#include <optional>

#include "runtime/testing/case_draft.h"

namespace mtfc {

// drawn_elementwise.cpp

/// An operand for `a` of its dtype: another tensor, itself, a constant, a broadcast one, or a new one. `exact`
/// asks for one that rounding does not touch.
std::optional<Facts> partner(CaseDraft& draft, const Facts& a, bool exact);
/// A function without kinks where its operand is.
void draw_smooth(CaseDraft& draft);
void draw_unary(CaseDraft& draft);
void draw_arithmetic(CaseDraft& draft);
void draw_comparison(CaseDraft& draft);
/// A `where`.
void draw_choice(CaseDraft& draft);

// drawn_reductions.cpp

/// Two sums that may stay partial until they are one.
void draw_merge(CaseDraft& draft);
void draw_reduction(CaseDraft& draft);
/// A product of numbers, or one flag from many.
void draw_rare_reduction(CaseDraft& draft);
/// A product of operands that share their dimensions in a ring.
void draw_ring(CaseDraft& draft);
void draw_contraction(CaseDraft& draft);

// drawn_indexing.cpp

void draw_one_hot(CaseDraft& draft);
void draw_update_slice(CaseDraft& draft);
void draw_cumsum(CaseDraft& draft);
void draw_top_k(CaseDraft& draft);
/// A `gather`.
void draw_lookup(CaseDraft& draft);
/// A `gather_dot`.
void draw_lookup_dot(CaseDraft& draft);
/// A `scatter_add`.
void draw_scatter(CaseDraft& draft);
void draw_count_before(CaseDraft& draft);

// drawn_shapes.cpp

/// A renaming or a reshape.
void draw_relabeling(CaseDraft& draft);
/// A broadcast or a transpose.
void draw_move(CaseDraft& draft);
/// One tensor's dimension cut, made longer, shifted, reversed or split.
void draw_pieces(CaseDraft& draft);
/// Tensors one after the other, or side by side.
void draw_join(CaseDraft& draft);

// drawn_composites.cpp

/// A softmax, norm, logsumexp or cross-entropy.
void draw_normalization(CaseDraft& draft);
void draw_dropout(CaseDraft& draft);
void draw_in_training(CaseDraft& draft);
/// Random numbers or a range.
void draw_generator(CaseDraft& draft);

// drawn_example.cpp

/// An example of any operation, so that one that has no function here is drawn, too.
void draw_example(CaseDraft& draft);

}  // namespace mtfc
