#pragma once
// Products with shardings of which some make a ring (core/program/ring.h), drawn at random.

#include <cstdint>
#include <map>
#include <string>

#include "core/tensors/layout.h"
#include "runtime/testing/sharded_runs.h"

namespace mtfc {

/// Annotations of the operands `x0` and `x1` and the result `y0` of a model of one operation, as model_of() makes it.
/// All products may turn.
Layout drawn_ring_layout(const Model& model, const Mesh& mesh, uint64_t seed);

/// How many steps of the entry point are rings of each form: `joins`, `adds`, `passes`.
void count_rings(const Program& program, const EntryPoint& entry, std::map<std::string, int64_t>& forms);

}  // namespace mtfc
