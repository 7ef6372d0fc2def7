#include "core/program/piece_map.h"

namespace mtfc {

PieceMap piece_map_of(const EntryPoint& entry, const Step& step) {
  return {*step.op(), step.attributes(), global_types(entry, step.inputs), global_types(entry, step.outputs)};
}

}  // namespace mtfc
