#pragma once
// Runs the passes (core/compile/passes.h) over one entry point: times each, verifies what it has made, and dumps what
// is asked for.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/compile/passes.h"
#include "core/compile/pipeline.h"
#include "core/model/state_split.h"
#include "core/plan/choose_plan.h"
#include "core/program/program_check.h"

namespace mtfc {

class PassRunner {
 public:
  /// The steps keep to the plan of `program`. All of these must outlive it. `by_rules`: the rules of the layout state
  /// how every tensor is split.
  PassRunner(const Program& program, const StateSplit& split, const CompileOptions& options,
             bool by_rules = true)
      : program_(program), split_(split), options_(options), by_rules_(by_rules) {}
  /// The model in this form.
  Model formed(Model model, const ModelForm& form);
  /// An entry point as the model declares it, with CompileOptions::keep.
  EntryGraph declared(const Model& model, const std::string& name);
  /// The passes that look neither at the layout nor at the plan, over the entry point and its loops. Adds to `useful`
  /// the multiplications of an unpartitioned run.
  EntryGraph lower_graph(EntryGraph entry, UsefulProducts& useful);
  /// The entry point, as lower_graph() gives it, in which the backward pass computes tensors again.
  EntryGraph rematerialized(EntryGraph entry);
  /// Finds the mistakes that these passes find, in the loops of the entry point as well.
  void check_graph(EntryGraph entry);
  /// Chooses the plan of an entry point as lower_graph() gives it. `variables`: the shardings that are decided already.
  /// `known`: the plan, if it has been chosen before; or nullptr. `shared`: as in PlanConditions.
  ChosenPlan choose(EntryGraph entry, const Shardings& variables, const PlanHardware& hardware,
                    const ChosenPlan* known, std::shared_ptr<const PlanSpace>* shared = nullptr);
  /// All other passes, of a chosen plan. `caches` follow the variables, which end at `bytes`.
  EntryPoint lower_plan(ChosenPlan plan, const UsefulProducts& useful, int64_t bytes,
                        std::vector<VariableDecl> caches);

 private:
  PassContext context() const { return {program_, split_, options_}; }
  Graph with_lowered_loops(Graph graph, const std::string& entry, int64_t times, UsefulProducts& useful);
  EntryGraph simplified(EntryGraph entry, UsefulProducts& useful);
  PartitionedEntry planned_steps(ShardedEntry plan, const PassContext& above);
  PassValue run(PassValue value, std::span<const Pass> passes, const PassContext& context);
  template <typename To>
  To run(PassStage stage, PassValue value, const PassContext& context);
  PassValue run_timed(const Pass& pass, PassValue value, const PassContext& context);
  PassValue run_blamed(const Pass& pass, PassValue value, const PassContext& context) const;
  void look(const char* pass, const PassValue& value, const std::string& problem) const;
  std::string problem_in(const Pass& pass, const PassValue& value, const PassValue& before,
                         const PassContext& context) const;

  const Program& program_;
  const StateSplit& split_;
  const CompileOptions& options_;
  bool by_rules_;
  std::string timed_as_;  // the entry point whose passes are timed
};

}  // namespace mtfc
