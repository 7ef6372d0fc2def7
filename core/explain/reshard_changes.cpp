#include "core/explain/reshard_changes.h"

#include <algorithm>

#include "core/tensors/name_pattern.h"

namespace mtfc {

ReshardChanges::ReshardChanges(const ExplainedProgram& explained, const ReshardStep& reshard)
    : explained_(explained) {
  add_tensor(reshard.tensor, near_);
  for (const OperationPlace& reader : reshard.readers)
    for (const std::string& tensor : reader.tensors) add_tensor(tensor, near_);
  for (const std::string& tensor : reshard.maker.tensors) add_tensor(tensor, near_);
  add_form(reshard.from);
  add_form(reshard.to);
  // A sum over devices may leave each of them a part.
  for (size_t d = 0; d < reshard.from.dims().size(); ++d) {
    Sharding scattered = reshard.from.sharding().whole();
    for (const int axis : partial_axes(reshard.from.sharding())) scattered.dims[d].push_back(axis);
    add_form({reshard.from.dims(), scattered});
  }
  for (const Near& near : near_) add_form(near.form);
}

std::vector<LayoutChange> ReshardChanges::further() const {
  const auto is_in = [](const std::vector<Near>& near, const std::string& name) {
    return std::any_of(near.begin(), near.end(), [&](const Near& one) { return one.name == name; });
  };
  std::vector<Near> found;
  const auto add_operation = [&](const Step& step) {
    std::vector<std::string> tensors;
    for (const std::vector<ValueId>* values : {&step.inputs, &step.outputs})
      for (const ValueId id : *values) tensors.push_back(tensor_name(explained_.entry.values[id]));
    if (std::none_of(tensors.begin(), tensors.end(),
                     [&](const std::string& tensor) { return is_in(near_, tensor); }))
      return;
    for (const std::string& tensor : tensors) add_tensor(tensor, found);
  };
  for (const Step& step : explained_.entry.steps) {
    if (step.op()) add_operation(step);
    for (const Step& member : step.members()) add_operation(member);
  }
  std::erase_if(found, [&](const Near& near) { return is_in(near_, near.name); });
  return changes_of(found);
}

// Adds the tensor, or the one of the model that it belongs to: `w` and its gradient for `w/adamw/mul`.
void ReshardChanges::add_tensor(const std::string& name, std::vector<Near>& near) const {
  std::string own = name;
  while (!explained_.names.is_known(own)) {
    const size_t slash = own.rfind('/');
    if (slash == std::string::npos) return;
    own.resize(slash);
  }
  add_near(own, near);
  if (own != name) add_near(own + "/grad", near);
}

void ReshardChanges::add_near(const std::string& name, std::vector<Near>& near) const {
  if (std::any_of(near.begin(), near.end(), [&](const Near& known) { return known.name == name; })) return;
  const std::vector<const Value*> forms = forms_of(explained_.entry, name);
  if (!forms.empty()) near.push_back({name, {forms[0]->type.dims, forms[0]->sharding.whole()}});
}

void ReshardChanges::add_form(const TensorForm& form) {
  std::map<std::string, AxisList> splits;
  for (size_t d = 0; d < form.dims().size(); ++d) splits[form.dims()[d].name] = form.sharding().dims[d];
  if (std::find(splits_.begin(), splits_.end(), splits) == splits_.end()) splits_.push_back(splits);
}

// The tensor is split as others near the reshard are, as far as it has their dimensions, or kept whole.
std::vector<Sharding> ReshardChanges::shardings_for(const Near& near) const {
  std::vector<Sharding> found;
  const auto add = [&](const Sharding& sharding) {
    if (std::find(found.begin(), found.end(), sharding) == found.end()) found.push_back(sharding);
  };
  const Dims& dims = near.form.dims();
  for (const auto& splits : splits_) {
    Sharding sharding = replicated(dims.size());
    for (size_t d = 0; d < dims.size(); ++d)
      if (const auto at = splits.find(dims[d].name); at != splits.end()) sharding.dims[d] = at->second;
    add(sharding);
  }
  add(replicated(dims.size()));
  return found;
}

// A pattern over all layers is returned, unless the layout names the tensor: that name would come first.
std::string ReshardChanges::pattern_for(const std::string& name) const {
  for (const Annotation& old : explained_.layout.annotations)
    if (!is_name_pattern(old.pattern) && explained_.names.fits(old.pattern, name)) return old.pattern;
  return explained_.names.over_layers(name);
}

std::vector<LayoutChange> ReshardChanges::changes_of(const std::vector<Near>& near) const {
  std::vector<LayoutChange> changes;
  for (const Near& one : near)
    for (const Sharding& sharding : shardings_for(one))
      changes.push_back(
          {Annotation{pattern_for(one.name), splits_of(one.form.dims(), sharding), {}}, "", false});
  for (const Annotation& old : explained_.layout.annotations)
    if (std::any_of(near.begin(), near.end(),
                    [&](const Near& one) { return explained_.names.fits(old.pattern, one.name); }))
      changes.push_back({{}, old.pattern, false});
  return changes;
}

}  // namespace mtfc
