#pragma once
// The names of an entry point's tensors: those of its model, which annotations can use, and where the model states the
// operations that make them.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/model/model.h"

namespace mtfc {

/// A pattern for the tensors of this name in all layers: `layer_*/ffn/wi` for `layer_3/ffn/wi`. The number at the end
/// of each part of the name but the last is left open.
std::string over_numbers(const std::string& name);

class ModelNames {
 public:
  /// Collects the names of the entry point `entry` (init, train, evaluate, decode) and of its loops. The model must
  /// have it.
  ModelNames(const Model& model, const std::string& entry);

  /// The name under which programs know the tensor: another one, if a block and its user name it differently.
  const std::string& canonical(const std::string& name) const;
  bool is_known(const std::string& name) const { return places_.contains(canonical(name)); }
  /// The error that the entry point's program does not have the tensor, which is known. It says whether nothing uses
  /// it.
  UserError not_computed(const std::string& name) const;
  /// The location in the model of the operation that makes the tensor; empty if the model does not state it.
  Location place(const std::string& tensor) const;
  /// A name for the tensor in annotations: a pattern over all layers, such as `layer_*/ffn/wi` for `layer_3/ffn/wi`, if
  /// other layers have such a tensor; otherwise the name itself.
  std::string over_layers(const std::string& tensor) const;
  /// True if an annotation of this name or pattern is for the tensor, under whatever name.
  bool fits(const std::string& pattern, const std::string& tensor) const;
  /// All names, for suggestions.
  std::vector<std::string> all() const;

 private:
  void add(const EntryGraph& entry, bool is_used);

  std::string entry_;
  std::map<std::string, Location, std::less<>> places_;
  std::map<std::string, std::string, std::less<>> aliases_;
  std::set<std::string> several_;  // patterns that match more than one tensor
  std::set<std::string> unused_;   // tensors on which no output and no assignment depends
};

}  // namespace mtfc
