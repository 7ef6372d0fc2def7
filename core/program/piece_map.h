#pragma once
#include "core/op_rules/pieces.h"
#include "core/program/program.h"

namespace mtfc {

/// The pieces that `step` moves: a kernel step of an operation that moves pieces, or the exchange that does
/// the work of one.
PieceMap piece_map_of(const EntryPoint& entry, const Step& step);

}  // namespace mtfc
