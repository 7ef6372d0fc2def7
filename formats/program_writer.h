#pragma once
// The compiled program as JSON, complete enough to be read back, and as a listing for people. The same
// program gives the same bytes.

#include <string>

#include "core/program.h"

namespace mtfc {

/// Of the JSON form.
inline constexpr int kProgramVersion = 1;

std::string program_json(const Program& program);

/// The listing of one entry point, before or after it has buffers.
std::string entry_text(const Program& program, const EntryPoint& entry);
/// One step a line: result, local shape (`4..5` where shards differ in size), kernel or collective, operands,
/// attributes, axes, bytes sent.
std::string program_text(const Program& program);

}  // namespace mtfc
