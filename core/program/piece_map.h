#pragma once
#include "core/op_rules/pieces.h"
#include "core/program/program.h"

namespace mtfc {

/// The map of the pieces that `step` moves. The step is a kernel step of an operation that moves pieces, or
/// the exchange that replaces one.
PieceMap piece_map_of(const EntryPoint& entry, const Step& step);

}  // namespace mtfc
