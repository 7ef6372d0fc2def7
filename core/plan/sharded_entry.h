#pragma once
// An entry point on its way from a graph to steps: the graph on whole tensors, and what choose_plan
// (core/plan/choose_plan.h) has decided for it.
//
//   entry       the graph
//   shardings   under which each tensor is known                     x: batch/rows   w: k/cols, h
//   strategies  in which shardings each node runs                    y: batch/rows, sum over cols
//   carries     which partial sums pass through each node unreduced
//   forms       in which further forms each tensor is held
//   loops       lower_loops: the steps of each loop in the graph

#include <string>
#include <vector>

#include "core/graph/entry_graph.h"
#include "core/program/partitioned_entry.h"
#include "core/program/reshard.h"
#include "core/tensors/mesh.h"
#include "core/tensors/sharding.h"

namespace mtfc {

/// The shardings in which one node runs on the mesh.
struct Strategy {
  std::vector<Sharding> operands;  // needed, nothing partial
  std::vector<Sharding> results;   // as they come out, partial where a split dimension was reduced
  bool operator==(const Strategy&) const = default;
};

/// A node that is linear in operands which are sum-partial over `axis`, and gives a sum-partial result of them.
struct Carry {
  int axis = 0;
  std::vector<size_t> operands;  // taken partial; all others are taken whole
  bool operator==(const Carry&) const = default;
};

/// A form of a tensor that a plan holds, and the form that it is made from.
struct PlannedForm {
  Sharding sharding;
  Sharding from;
  ReshardWay way = ReshardWay::kFewestBytes;
  bool operator==(const PlannedForm&) const = default;
};

struct ShardedEntry {
  EntryGraph entry;
  PerTensor<Sharding> shardings = {};
  // Per node; empty ones for leaves
  std::vector<Strategy> strategies = {};
  std::vector<std::vector<Carry>> carries = {};    // per node, at most one per axis
  PerTensor<std::vector<PlannedForm>> forms = {};  // of each tensor, beside the one that its producer gives
  std::vector<Sharding> outputs = {};              // the shardings of the outputs before the sums
  std::vector<ShardedEntry> parts = {};            // the condition and the body of each loop node, in order
  Loops loops = {};                                // the steps of these
};

/// True if the same is decided for both, which were made from the same graph.
bool is_decided_alike(const ShardedEntry& a, const ShardedEntry& b);

/// The graph, a line a node as to_string(Graph) has it, and below each what the passes have decided for it.
std::string to_string(const ShardedEntry& sharded, const Mesh& mesh);

/// "" where the fields that are there fit the graph, the mesh and each other; otherwise what is wrong.
/// Sharding uses no axis twice; a strategy is a legal way to run its operation; the steps of a loop take and give
/// what the loop does; a carry is something that the operation is linear in.
std::string sharding_problem(const ShardedEntry& sharded, const Mesh& mesh);

/// "" where every variable that the graph reads is split as the program stores it; otherwise what is wrong.
std::string storage_problem(const ShardedEntry& sharded, const std::vector<ProgramVariable>& variables,
                            const Mesh& mesh);

}  // namespace mtfc
