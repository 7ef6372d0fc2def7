#pragma once
// The passes, in order. A pass is a row: its name, the stage that it belongs to, and the function that makes one value
// from another. PassRunner times, verifies and dumps the result of every row in the same way.

#include <functional>
#include <span>
#include <variant>
#include <vector>

#include "core/compile/pipeline.h"
#include "core/plan/choose_plan.h"
#include "core/program/partitioned_entry.h"

namespace mtfc {

/// A model, and then an entry point of it, or a part of a loop, on its way from a graph to steps that have places in
/// memory.
using PassValue = std::variant<EntryGraph, Model, ChosenPlan, ShardedEntry, PartitionedEntry, EntryPoint>;

/// All that passes read apart from their value. Those that expand and simplify graphs read nothing of it.
struct PassContext {
  const Program& program;  // its layout, its plan and its variables
  const StateSplit& split;
  const CompileOptions& options;
  const ModelForm* form = nullptr;             // that the model is brought into
  const Model* model = nullptr;                // whose training step is made
  const PlanConditions* conditions = nullptr;  // of the plan that is chosen
  const std::vector<ProgramVariable>* held =
      nullptr;                        // variables of the program, and after them the entry's caches
  bool by_rules = true;               // the rules state how every tensor is split
  int64_t bytes = 0;                  // where the variables end
  const EntryGraph* graph = nullptr;  // whose inputs and outputs the steps keep
  std::function<PartitionedEntry(ShardedEntry)> lower_part = {};  // gives the steps of a part of a loop

  const Mesh& mesh() const { return program.mesh(); }
  const Plan& plan() const { return program.plan; }
  const std::vector<ProgramVariable>& variables() const { return *held; }
};

/// Passes that run one after the other.
enum class PassStage {
  kForm,  // the model, as soon as it is read: what reads its declarations counts on its form
  kTrain,  // the forward graph of a training step. Gradients and updates follow, unless these passes have added them
  kExpand,  // composites and gradients. Only passes up to these may throw UserError. After them, every node is an
            // operation, a leaf or a loop
  kSimplify,       // fixes the arithmetic: after them, every einsum has one or two operands
  kRematerialize,  // tensors that are computed again, which are not useful work. The plan counts from here on
  kChoose,         // the layout counts from here on. After them, the graph stays as it is
  kLower,          // to steps on local values, with those of its loops
  kPlace,          // into buffers
};

struct Pass {
  PassStage stage;
  const char* name;
  PassValue (*run)(PassValue, const PassContext&);
  bool only_improves = false;    // programs compute the same without it
  bool keeps_gradients = false;  // gradients are to be expanded after it
};

/// The rows of a stage, in order.
std::span<const Pass> passes_of(PassStage stage);
/// The rows of all stages, in order.
std::span<const Pass> all_passes();

}  // namespace mtfc
