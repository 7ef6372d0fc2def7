#pragma once
// The annotations of a layout and of a model (GShard, section 3), matched with the tensors of the model.
//
// An exact name in the layout comes before its patterns, a later pattern before an earlier one, and the layout before
// the model. Gradients and optimizer state of an annotated variable are split like the variable, unless they are
// annotated themselves. Example: with w: {io: cols} and **: {batch: rows}, w is [io/cols, hidden], w/grad as well, and
// every tensor with a dimension batch is split over rows.
//
// If a tensor has no annotation, rules for a part of the model decide how it is split, together with the rules for
// all tensors. If the layout propagates, they do so for inputs, variables, optimizer state and the gradients of
// variables that they name, and offer their axes to other tensors.

#include <map>
#include <string>
#include <vector>

#include "core/graph/entry_graph.h"
#include "core/model/model.h"
#include "core/tensors/layout.h"

namespace mtfc {

/// The statement of a layout and a model on a tensor with these dimensions.
struct StatedTensor {
  Dims dims;
  StatedLayout stated;
};
using StatedTensors = std::map<std::string, StatedTensor, std::less<>>;

class Annotations {
 public:
  Annotations() = default;
  /// Throws one UserError for all patterns and names that match nothing, for dimensions that no matched tensor has,
  /// for axes that the mesh lacks, and for rules that split a tensor twice over an axis. Without a mesh, the
  /// annotations of the model say nothing.
  Annotations(const Model& model, const Layout& layout);

  bool empty() const { return main_.empty() && decode_.empty(); }
  /// The entry point, with what is stated of each tensor of the model, by its name; in loops as well.
  EntryGraph applied(EntryGraph entry) const;
  /// Adds a diagnostic for each dimension that an annotation, or a rule for a part of the model, splits over axes that
  /// do not divide it evenly.
  void check_even(const Mesh& mesh, std::vector<Diagnostic>& diagnostics) const;
  /// The annotation of a tensor of an entry point; nullptr if it has none.
  SharedAnnotation of(const std::string& entry, const std::string& tensor) const;
  /// The annotation of a variable of the model, of its optimizer, or of `decode`; nullptr if it has none.
  SharedAnnotation of_variable(const std::string& name) const;

 private:
  const StatedTensors& of_entry(const std::string& entry) const {
    return entry == "decode" ? decode_ : main_;
  }

  StatedTensors main_;    // of the model, and of training
  StatedTensors decode_;  // of `decode`, where the variables of the model have the same names
};

/// True if the compiler chooses a plan (core/plan/choose_plan.h), false if the rules of the layout decide everything.
bool is_planned(const Layout& layout, const Annotations& annotations);

}  // namespace mtfc
