#pragma once
// The decisions that a program keeps to, beside those that its layout states. They go by the names of tensors, so that
// they hold for another graph of the same model: one that computes some tensors again, or has other sizes.

#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/tensors/sharding.h"

namespace mtfc {

struct EntryPoint;
struct Program;

/// Names of forward tensors. Those that are constants, leaves, results of loops or outputs, and those that the backward
/// pass does not read, are passed over.
using RematNames = std::set<std::string, std::less<>>;

/// Moves of tensors between shardings that count as work of a kernel beside them, and not as steps of their own.
enum class FusedMoves { kNone, kSlices, kAll };

/// The costs by which the plans of a program are compared while they are chosen.
struct PlanWay {
  bool by_seconds = false;   // predicted on the hardware, if there is any; or else bytes and flops
  double hidden = 0;         // the share of a collective that kernels hide if they can
  bool keeps_rules = false;  // operands are taken as rules split them before anything else is compared
  FusedMoves fused = FusedMoves::kNone;  // the moves that are counted without the overhead of a step

  bool operator==(const PlanWay&) const = default;
};

/// A plan decides nothing where it says nothing: the chooser (core/plan/choose_plan.h) does.
struct Plan {
  Shardings variables = {};  // of variables and caches
  /// Of other tensors, by the name of their entry point. Choosing a plan that keeps to them takes little time.
  std::map<std::string, Shardings, std::less<>> tensors = {};
  /// The backward pass computes these tensors again, beside those that the model says ("recompute").
  RematNames recomputed = {};
  /// Products run in turns (core/program/ring.h) wherever that takes less memory, unless the layout says otherwise.
  bool saves_by_rings = false;
  /// Where the layout splits gradients (ZeRO), each microbatch scatters its own: devices then hold shards of their sums
  /// in place of terms of whole ones, and send as much for each microbatch as otherwise for all.
  bool scatters_microbatches = false;
  /// Nothing: of several ways, the one that leads to the shortest step.
  std::optional<PlanWay> way = {};

  /// The shardings of the tensors of an entry point.
  const Shardings& of(const std::string& entry) const;

  bool operator==(const Plan&) const = default;
};

/// `plan`, which keeps to the shardings of the program's variables and caches besides.
Plan with_variables(Plan plan, const Program& program);

/// `plan`, which keeps to the shardings of the program's variables and of all tensors of `entry` besides.
Plan with_shardings(Plan plan, const Program& program, const EntryPoint& entry);

}  // namespace mtfc
