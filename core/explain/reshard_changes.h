#pragma once
// The changes of a layout that may remove a collective: annotations of the tensors near it.
//
// Example: y = relu(x) gathers x. Near are x and y. They may be split as x is before the gather, or as after it, so
// {"y": {"batch": "rows"}} is one of the changes.

#include <map>
#include <string>
#include <vector>

#include "core/explain/explained_program.h"
#include "core/tensors/tensor_form.h"

namespace mtfc {

class ReshardChanges {
 public:
  /// Both must outlive it.
  ReshardChanges(const ExplainedProgram& explained, const ReshardStep& reshard);

  /// Annotations of the tensors of the operations at both ends, one by one, and the removal of those that are there.
  std::vector<LayoutChange> nearest() const { return changes_of(near_); }
  /// The same for tensors that are one operation further away.
  std::vector<LayoutChange> further() const;

 private:
  // A tensor, in the form that it has now.
  struct Near {
    std::string name;
    TensorForm form;
  };

  void add_tensor(const std::string& name, std::vector<Near>& near) const;
  void add_near(const std::string& name, std::vector<Near>& near) const;
  void add_form(const TensorForm& form);
  std::vector<Sharding> shardings_for(const Near& near) const;
  std::string pattern_for(const std::string& name) const;
  std::vector<LayoutChange> changes_of(const std::vector<Near>& near) const;

  const ExplainedProgram& explained_;
  std::vector<Near> near_;
  std::vector<std::map<std::string, AxisList>> splits_;  // by dimension, as tensors near it have them
};

}  // namespace mtfc
