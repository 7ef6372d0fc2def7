#pragma once
// Single collectives as whole programs, with the answer computed directly: for the tests of both kinds of
// Comm.

#include <cstdint>
#include <string>
#include <vector>

#include "core/program/collective_cost.h"
#include "core/program/program.h"
#include "runtime/memory/arena.h"

namespace mtfc {

struct CollectiveCase {
  std::string name;
  Mesh mesh;
  CollectiveKind kind;
  AxisList axes;
  TensorType from;
  Sharding from_sharding;
  TensorType to;
  Sharding to_sharding;
  ReduceKind reduce = ReduceKind::kSum;
  bool in_place = false;
  bool is_combined = false;  // an all_reduce of two such values
  bool rounds_once = true;   // of bf16: the sum of all devices, not that of each node
};

/// Returns collectives on `devices` devices. They cover every kind with every change of a matrix's sharding that the
/// kind can make according to its row, with even, uneven and empty shards. They also cover reductions of all dtypes,
/// and reshapes.
std::vector<CollectiveCase> collective_cases(int64_t devices);

/// An entry point `train` of one collective from value 0 to value 1, and of a combined one from value 2 to value 3,
/// with the workspace that the planner grants.
EntryPoint collective_entry(const CollectiveCase& c);

/// Fills the operands on the device at `at`.
void fill_case(const CollectiveCase& c, const EntryPoint& entry, const Coordinates& at, const Arena& arena);

/// The number of elements of the results that are wrong on the device at `at`.
int64_t wrong_elements(const CollectiveCase& c, const EntryPoint& entry, const Coordinates& at,
                       const Arena& arena);

/// True if these `rounds` rounds have moved what is predicted, on the device of `devices` that moves most.
/// Predictions are for groups in which no member has what another one sends; elsewhere, always true.
bool moved_as_predicted(const CollectiveCase& c, const EntryPoint& entry,
                        const std::vector<Coordinates>& devices, const CollectiveCost& moved, int64_t rounds);

}  // namespace mtfc
