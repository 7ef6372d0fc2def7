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

/// True if `op` gives a sum-partial result when these of its `count` operands are sum-partial and the others
/// are whole.
bool is_linear_in(const OpDef& op, const std::vector<size_t>& operands, size_t count);

}  // namespace mtfc
