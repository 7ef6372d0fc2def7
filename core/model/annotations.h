#pragma once
// The annotations of a layout and of a model (GShard, section 3), matched with the tensors of the model.
//
// An exact name in the layout comes before its patterns, a later pattern before an earlier one, and the layout before
// the model. Rules that are limited to a pattern come after all annotations; with them, the rules without a pattern fix
// the rest of a tensor's sharding. If the layout propagates, they fix inputs and variables alone. Gradients and optimizer state of an annotated variable are split like the variable, unless they are
// annotated themselves. Example: with w: {io: cols} and **: {batch: rows}, w is [io/cols, hidden], w/grad as well, and
// every tensor with a dimension batch is split over rows.

#include <map>
#include <string>
#include <vector>

#include "core/graph/entry_graph.h"
#include "core/model/model.h"
#include "core/tensors/layout.h"

namespace mtfc {

class Annotations {
 public:
  Annotations() = default;
  /// Throws one UserError for all patterns and names that match nothing, for dimensions that no matched tensor has,
  /// for axes that the mesh lacks, and for limited rules that split a tensor twice over an axis. Without a mesh, the annotations of the model say nothing.
  Annotations(const Model& model, const Layout& layout);

  bool empty() const { return main_.empty() && decode_.empty(); }
  /// The entry point, with each tensor of the model annotated by its name, in loops as well.
  EntryGraph applied(EntryGraph entry) const;
  /// Adds a diagnostic for each annotation under which axes do not divide a dimension of a tensor evenly.
  void check_even(const Mesh& mesh, std::vector<Diagnostic>& diagnostics) const;
  /// The annotation of a tensor of an entry point; nullptr if it has none.
  SharedAnnotation of(const std::string& entry, const std::string& tensor) const;
  /// The annotation of a variable of the model, of its optimizer, or of `decode`; nullptr if it has none.
  SharedAnnotation of_variable(const std::string& name) const;

 private:
  using ByName = std::map<std::string, SharedAnnotation, std::less<>>;
  const ByName& of_entry(const std::string& entry) const { return entry == "decode" ? decode_ : main_; }

  std::map<std::string, Dims, std::less<>> dims_;  // of the annotated tensors
  ByName main_;                                    // tensors of the model, and those of training
  ByName decode_;  // tensors of `decode`, where the variables of the model have the same names
};

}  // namespace mtfc
