#pragma once
// The compiled program as JSON, complete enough to be read back, and as a listing for people. The output
// depends on the program alone.

#include <string>

#include "core/program/program.h"

namespace mtfc {

/// The version of the JSON form.
inline constexpr int kProgramVersion = 1;

std::string program_json(const Program& program);
/// The JSON Schema of this form.
std::string program_schema();

/// `f32[batch=50, hidden=4..5]`: local extents, with the smallest and the largest if they differ.
std::string local_shape(const Value& value, const Mesh& mesh);

/// The listing of one entry point, with or without assigned buffers.
std::string entry_text(const Program& program, const EntryPoint& entry);
/// The buffers of one entry point: their values, their bytes in the arena, and the steps during which they are
/// alive, a line per buffer. "" if the entry point has no buffers yet.
std::string buffers_text(const EntryPoint& entry);
/// One step per line: result, local shape (`4..5` if shards differ in size), kernel or collective, operands,
/// attributes, axes, bytes sent.
std::string program_text(const Program& program);
/// A graph in the language of Graphviz: a cluster per entry point, a node per step and per variable or input
/// that a step uses, an edge per value with its local shape. Collectives are highlighted, with their axes and
/// bytes.
std::string program_dot(const Program& program);

}  // namespace mtfc
