#pragma once
// Runs the passes over one entry point: times each, verifies what it has made, and dumps what is asked for. The source
// file of this class is the only place that knows the order of the passes.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/choice/choose_plan.h"
#include "core/model/state_split.h"
#include "core/passes/pipeline.h"
#include "core/program/partitioned_entry.h"
#include "core/program/program_check.h"

namespace mtfc {

struct GraphPass;
struct PassContext;

class PassRunner {
 public:
  /// The steps keep to the plan of `program`. All of these must outlive it. `by_rules`: the rules of the layout state
  /// how every tensor is split.
  PassRunner(const Program& program, const StateSplit& split, const CompileOptions& options,
             bool by_rules = true)
      : program_(program), split_(split), options_(options), by_rules_(by_rules) {}
  /// The passes that look neither at the layout nor at the plan, over the entry point and its loops. Adds to `useful`
  /// the multiplications of an unpartitioned run.
  EntryGraph lower_graph(EntryGraph entry, UsefulProducts& useful);
  /// The entry point, as lower_graph() gives it, in which the backward pass computes tensors again.
  EntryGraph rematerialized(EntryGraph entry);
  /// Finds the mistakes that these passes find, in the loops of the entry point as well.
  void check_graph(EntryGraph entry);
  /// Chooses the plan of an entry point as lower_graph() gives it. `variables`: the shardings that are decided already.
  /// `known`: the plan, if it has been chosen before; or nullptr.
  ChosenPlan choose(EntryGraph entry, const Shardings& variables, const PlanHardware& hardware,
                    const ChosenPlan* known);
  /// All other passes, of a chosen plan. `caches` follow the variables, which end at `bytes`.
  EntryPoint lower_plan(ChosenPlan plan, const UsefulProducts& useful, int64_t bytes,
                        std::vector<VariableDecl> caches);

 private:
  std::vector<ProgramVariable> with_caches(const std::vector<ProgramVariable>& caches) const;
  EntryPoint finished(PartitionedEntry steps, const std::vector<ProgramVariable>& variables,
                      std::vector<ProgramVariable> caches, const UsefulProducts& useful, int64_t bytes);
  Graph with_lowered_loops(Graph graph, const std::string& entry, int64_t times, UsefulProducts& useful);
  PartitionedEntry planned_steps(ShardedEntry plan, const std::vector<ProgramVariable>& variables);
  void verify_sharded(const char* pass, const ShardedEntry& sharded, const PassContext& context) const;
  EntryGraph simplified(EntryGraph entry, UsefulProducts& useful);
  EntryGraph run_graph_passes(EntryGraph entry, std::span<const GraphPass> passes);
  template <typename Run>
  EntryGraph run_graph_pass(EntryGraph entry, const char* name, bool keeps_gradients, Run run);
  EntryGraph regathered(EntryGraph entry, const std::set<std::string, std::less<>>& leaves);
  PartitionedEntry partitioned(const ShardedEntry& sharded, const PassContext& context);
  template <typename Work>
  auto timed(const char* pass, Work work) -> decltype(work());
  template <typename Work>
  auto blamed(const char* pass, Work work) const -> decltype(work());
  static std::string problem_of(const std::optional<ProgramFault>& fault);
  template <typename FindProblem>
  void verify(const char* pass, const std::string& entry, FindProblem find_problem) const;
  template <typename FindDifference>
  void check(const char* pass, const PartitionedEntry& steps, FindDifference find_difference) const;
  template <typename Text>
  void dump(const char* pass, const std::string& entry, Text text) const;
  void dump(const char* pass, const EntryPoint& entry) const;

  const Program& program_;
  const StateSplit& split_;
  const CompileOptions& options_;
  bool by_rules_;
  std::string timed_as_;  // the entry point whose passes are timed
};

}  // namespace mtfc
