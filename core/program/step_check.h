#pragma once
// The part of check_program that tells whether one step is a legal use of its operation or collective for the
// shardings of its values.

#include <string>
#include <vector>

#include "core/program/program.h"

namespace mtfc {

/// "" for a legal step, otherwise what is wrong. Values and buffers must be in range, and a kWait must be
/// paired with its kStart. Workspaces are checked only if there are buffers, that is after `assign_buffers`.
std::string step_problem(const EntryPoint& entry, const Step& step, const Mesh& mesh, bool has_buffers);

/// "" if `op` can run with its operands and results split so, otherwise what is wrong. `factors` are those of
/// the call. With `exchanges`, devices exchange the pieces that the operation moves; a kernel needs operands
/// that are whole along the moved dimension.
std::string factors_problem(const std::vector<Factor>& factors, const std::vector<Sharding>& operands,
                            const std::vector<Sharding>& results, bool exchanges);

/// True if a result is `partial` because the operation reduces a dimension that is split over that axis.
/// `factors` are those of the call.
bool becomes_partial(const std::vector<Factor>& factors, const std::vector<Sharding>& operands,
                     const Partial& partial);

/// The operands of a call as a sum over one axis of the mesh sees them.
struct SumOperands {
  std::vector<bool> partial;  // sum-partial over the axis
  std::vector<bool> zero;     // constant zeros, which are partial as they are
};

/// True if a call of `op` gives a sum-partial result of such operands, of which those that are neither partial nor zero
/// are whole. `factors` are those of the call.
bool passes_sum(const OpDef& op, const OpCall& call, const std::vector<Factor>& factors,
                const SumOperands& operands);

}  // namespace mtfc
