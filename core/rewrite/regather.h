#pragma once
// Gives the backward pass copies of its own of the variables that `regather` names. A variable that is split is
// gathered where it is needed, and the gathered form is kept for all that read the variable. A copy is another tensor,
// which is gathered anew, so that what the forward pass has gathered can be released. The copy itself costs nothing: it
// is an alias of the variable's shard.
//
//   h = einsum(x, w) ...; dx = einsum(dh, w)
//   ->  h = einsum(x, w) ...; w/again = identity(w); dx = einsum(dh, w/again)
//
// If the graph casts a variable first, the forward pass gathers the cast. The backward pass then casts a copy of the
// variable itself, and gathers that.

#include <set>
#include <string>

#include "core/graph/entry_graph.h"
#include "core/tensors/layout.h"

namespace mtfc {

/// `leaves`: the names of the variables and, in the body of a loop, of the leaves that stand for them. Copies come
/// right before the first node that reads them. The bodies of loops inside are given copies too.
EntryGraph regather(EntryGraph entry, const std::set<std::string, std::less<>>& leaves);

/// Gives the backward pass copies of the activations that rules between parts split and that the forward pass gathers:
/// it gathers them again, and what the forward pass has gathered is released, as in Megatron (Korthikanti et al. 2022).
///
///   q = einsum(x, w) ...; dw = einsum(x, dq)
///   ->  q = einsum(x, w) ...; x/again = identity(x); dw = einsum(x/again, dq)
EntryGraph regather_between(EntryGraph entry, const Layout& layout);

/// Returns the operands of a loop that are named in `leaves`, or are casts of leaves named there, by their names in the
/// loop.
std::set<std::string, std::less<>> leaves_in_loop(const Graph& graph, const Node& loop,
                                                  const std::set<std::string, std::less<>>& leaves);

}  // namespace mtfc
