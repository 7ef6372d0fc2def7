#pragma once
// The compiled program as JSON, complete enough to be read back, and as a listing for people. The same
// program gives the same bytes.

#include <string>

#include "core/program/program.h"

namespace mtfc {

/// Of the JSON form.
inline constexpr int kProgramVersion = 1;

std::string program_json(const Program& program);

/// `f32[batch=50, hidden=4..5]`: local extents, smallest and largest where they differ.
std::string local_shape(const Value& value, const Mesh& mesh);

/// The listing of one entry point, before or after it has buffers.
std::string entry_text(const Program& program, const EntryPoint& entry);
/// Which values lie in which bytes of the arena, and from which step to which: a line a buffer. "" where the
/// entry point has no buffers yet.
std::string buffers_text(const EntryPoint& entry);
/// One step a line: result, local shape (`4..5` where shards differ in size), kernel or collective, operands,
/// attributes, axes, bytes sent.
std::string program_text(const Program& program);
/// A graph in the language of Graphviz: a cluster per entry point, a node per step and per variable or input
/// that a step uses, an edge per value with its local shape; collectives stand out, with their axes and
/// bytes.
std::string program_dot(const Program& program);

}  // namespace mtfc
