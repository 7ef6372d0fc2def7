#pragma once
// Compiles a model and a layout to a program. The passes and their order are in core/compile/pass_runner.cpp.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/graph/entry_graph.h"
#include "core/model/annotations.h"
#include "core/model/model.h"
#include "core/program/plan.h"
#include "core/program/program.h"
#include "core/tensors/layout.h"

namespace mtfc {

struct ChosenPlan;
struct Hardware;
struct OfferedAxes;
struct PlanConditions;

/// Returns whether compile() verifies the result of each pass by default: in debug builds, and if the
/// environment variable MTFC_VERIFY_PASSES is set to another value than 0, as it is in tests.
bool verifies_by_default();

struct CompileOptions {
  bool allow_uneven = true;
  std::vector<std::string> keep;     // tensors to deliver beside the model's outputs
  std::vector<std::string> entries;  // the entry points to compile, by name; all if it is empty
  bool decode = false;               // the entry points `decode` and `encode` too, where the model has them;
                                     // `prompt` only if `entries` names it
  bool keep_all = false;             // every value has a place in memory, for runs that look at each
  std::string dump_after;            // a pass of pass_names() whose result goes to one of these two
  std::function<void(const std::string& entry, const std::string& graph)> dump_graph;
  std::function<void(const Program& program, const EntryPoint& entry)> dump_steps;
  std::function<void(const std::string& entry, const std::string& pass, double seconds)> timed;
  /// The hardware on which a plan that is chosen is to be fast; nullptr to choose it without. Must outlive the call.
  const Hardware* hardware = nullptr;
  /// Axes that a plan may use beyond the layout's, for a search over annotations; nullptr for none.
  const OfferedAxes* offered = nullptr;
  /// Once it returns true, the best plan that has been found is taken; empty to find the best of all.
  std::function<bool()> ends_choice = {};
  /// Called for each plan that is chosen, before its steps are made.
  std::function<void(const ChosenPlan& plan, const PlanConditions& conditions)> planned = {};
  std::set<std::string, std::less<>> without_passes = {};  // some of improving_passes()
  bool verify = verifies_by_default();  // look at what each pass has made; a fault is an InternalError

  /// True if a caller is told of the way to the program.
  bool is_watched() const { return dump_graph || dump_steps || timed || planned; }
  /// The same, for a program that is only tried, of which nobody is told.
  CompileOptions unwatched() const {
    CompileOptions options = *this;
    options.dump_graph = nullptr;
    options.dump_steps = nullptr;
    options.timed = nullptr;
    options.planned = nullptr;
    return options;
  }
};

/// The model in this form, in which it is compiled. The passes that bring it into the form are watched as compile()'s.
Model with_form(Model model, const ModelForm& form, const CompileOptions& options = {});
/// What dump_graph and `timed` call the model, in the place of an entry point.
inline constexpr std::string_view kModelDump = "model";

/// An entry point of the model as a graph, before passes look at it. `keep`: as in CompileOptions.
EntryGraph declared_entry(const Model& model, const std::string& name,
                          const std::vector<std::string>& keep = {});

/// The program keeps to `plan`; what it leaves open is chosen. Throws UserError for a layout that is not legal for the
/// model, and for a name in `keep` that no entry point has. The work does not depend on the number of devices.
Program compile(const Model& model, const Layout& layout, const CompileOptions& options,
                const Plan& plan = {});

/// Throws the UserError that compile() would throw, without making a program. Only checks of the layout and passes over
/// graphs find mistakes; they are a small part of the work of compile().
void check_compilable(const Model& model, const Layout& layout, const CompileOptions& options);

/// A layout and the names of the model that it speaks of.
struct ResolvedLayout {
  /// Throws UserError for names that the model does not have, also in `options.keep`.
  ResolvedLayout(const Model& model, const Layout& given, const CompileOptions& options);
  Annotations annotations;
  Layout layout;  // its rules for rings name products of the program
};

/// A model with all that compiling does before it looks at how a layout splits it, to be compiled for many layouts, or
/// by many plans. May be used by several threads.
class PreparedModel {
 public:
  /// The model is only referred to. `annotations` are those of the layouts to come.
  PreparedModel(const Model& model, const CompileOptions& options, Annotations annotations = {});
  ~PreparedModel();
  const Model& model() const { return model_; }
  const CompileOptions& options() const { return options_; }
  /// An entry point as it is before the layout decides anything.
  struct Entry {
    EntryGraph graph;
    UsefulProducts useful;
  };
  /// Throws UserError for mistakes that only passes over graphs find.
  const Entry& entry(const std::string& name) const;
  /// A graph as it is before the layout decides anything, and how often a step of the program runs it.
  struct Part {
    EntryGraph graph;
    int64_t times = 1;
  };
  /// The graph of the entry point `name` by a plan, and those of its loops; nothing where the model has no such entry
  /// point.
  std::vector<Part> parts(const std::string& name, const Plan& plan = {}) const;
  /// Does the same as compile(), but only for the entry points in `names`; for all of them if it is empty.
  Program compile(const Layout& layout, const std::vector<std::string>& names = {},
                  const Plan& plan = {}) const;

 private:
  struct Lowered;
  const Model& model_;
  CompileOptions options_;
  Annotations annotations_;
  std::map<std::string, std::unique_ptr<Lowered>, std::less<>> entries_;  // each is lowered when it is needed
};

/// Names of the passes, in order.
const std::vector<std::string>& pass_names();
/// Names of the passes that only make programs better: without them, programs compute the same.
const std::vector<std::string>& improving_passes();

}  // namespace mtfc
