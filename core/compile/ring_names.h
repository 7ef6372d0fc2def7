#pragma once
// The names of tensors in rules for rings. A tensor may have several: programs know it by the first, and a model also
// by those that its blocks and their users give to it (Graph::aliases).

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/tensors/layout.h"

namespace mtfc {

class RingNames {
 public:
  /// Adds the tensors of an entry point, and of its loops.
  void add(const Graph& graph);
  /// The further names of the tensor that programs know as `name`.
  std::vector<std::string> further(const std::string& name) const;
  /// Rules with the names that programs know, which say the same of every tensor under each of its names: a name comes
  /// before a pattern, and a later pattern before an earlier one.
  std::vector<RingRule> resolved(const Layout& layout) const;

 private:
  std::map<std::string, std::set<std::string>> further_;  // by the name that programs know
  std::set<std::string> names_;                           // that programs know
};

}  // namespace mtfc
