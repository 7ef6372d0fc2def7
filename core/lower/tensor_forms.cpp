#include "core/lower/tensor_forms.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/tensors/tensor_form.h"

namespace mtfc {
namespace {

// `sum(cols)`, `batch/rows`, `whole`: how a form differs from the others of its tensor.
std::string form_name(const Dims& dims, const Sharding& sharding, const Mesh& mesh) {
  check_form(dims, sharding);
  std::string text;
  for (const Partial& p : sharding.partial)
    text += (text.empty() ? "" : ",") + to_string(p.kind) + "(" + mesh.names({p.axis}) + ")";
  for (size_t i = 0; i < dims.size(); ++i)
    if (!sharding.dims[i].empty())
      text += (text.empty() ? "" : ",") + dims[i].name + "/" + mesh.names(sharding.dims[i]) +
              (sharding.window(i) ? "~" : "");
  return text.empty() ? "whole" : text;
}

}  // namespace

TensorForms::TensorForms(const ShardedEntry& sharded, const Mesh& mesh)
    : sharded_(sharded), mesh_(mesh), forms_(sharded.entry.graph.tensors().size()), planned_(forms_.size()) {
  made_.entry.name = sharded.entry.name;
}

ValueId TensorForms::add_value(Value value, int variable) {
  made_.variable_of.push_back(variable);
  return made_.entry.values.add(std::move(value));
}

ValueId TensorForms::add(TensorId tensor, const Sharding& sharding) {
  const bool own = sharding == own_sharding(tensor);
  const std::string& name = graph().tensor(tensor).name;
  const TensorType& type = graph().type(tensor);
  // A plan may make a form again that the producer already gives.
  const auto is_same = [&](ValueId form) { return value(form).sharding == sharding; };
  const auto known = std::count_if(forms_[tensor].begin(), forms_[tensor].end(), is_same);
  std::string form = own ? "" : "@" + form_name(type.dims, sharding, mesh_);
  if (known > 0) form += "@" + std::to_string(known + 1);
  const ValueId id = add_value({name + form, type, sharding, kNoBuffer,
                                own && known == 0 && graph().tensor(tensor).from_model, kNoValue});
  forms_[tensor].push_back(id);
  return id;
}

void TensorForms::add_alias(ValueId of, TensorId tensor, const Sharding& sharding) {
  for (const ValueId form : this->of(tensor))
    if (value(form).sharding == sharding) return;
  const ValueId id = add(tensor, sharding);
  made_.entry.values[id].alias_of = of;
}

ValueId TensorForms::obtain(TensorId tensor, const Sharding& wanted, const Node& user) {
  return planned_form(tensor, wanted, sharded_.forms[tensor].size(), user);
}

// Finds the last of the first `before` planned forms with this sharding, and makes it from its source if it does not
// exist yet. Without such a form, returns the producer's. A plan can list a sharding twice: an annotated tensor is read
// from its annotated form, even where the producer gives the form that is wanted.
ValueId TensorForms::planned_form(TensorId tensor, const Sharding& wanted, size_t before, const Node& user) {
  const std::vector<PlannedForm>& planned = sharded_.forms[tensor];
  planned_[tensor].resize(planned.size(), kNoValue);
  for (size_t i = before; i-- > 0;) {
    if (planned[i].sharding != wanted) continue;
    if (planned_[tensor][i] != kNoValue) return planned_[tensor][i];
    ValueId form = planned_form(tensor, planned[i].from, i, user);
    const Dims& dims = graph().type(tensor).dims;
    for (const Move& move : plan_reshard(dims, planned[i].from, wanted, mesh_, planned[i].way))
      form = moved(tensor, form, move, user);
    return planned_[tensor][i] = form;
  }
  for (const ValueId form : of(tensor))
    if (value(form).sharding == wanted) return form;
  throw InternalError("a form of '" + graph().tensor(tensor).name +
                      "' is asked for that the plan does not hold");
}

ValueId TensorForms::moved(TensorId tensor, ValueId from, const Move& move, const Node& user) {
  // A plan states which form each one is made from, so it shares a move only with the same source.
  for (const ValueId form : moved_to_[from])
    if (value(form).sharding == move.to) return form;
  const bool finishes = move.collective && reduces(move.collective->kind);
  // A reduction finishes what the producer began; any other move is made for the user.
  Step step = new_step(finishes ? graph().producer(tensor) : user);
  const ValueId to = add(tensor, move.to);
  emit_move(std::move(step), from, to, move);
  moved_to_[from].push_back(to);
  return to;
}

Step TensorForms::new_step(const Node& node) const {
  Step step;
  step.name = graph().tensor(node.results[0]).name;
  step.source = node.origin->location.pointer;
  step.phase = node.origin->phase;
  return step;
}

void TensorForms::emit_move(Step step, ValueId from, ValueId to, const Move& move) {
  step.name = value(to).name;
  step.inputs = {from};
  step.outputs = {to};
  if (move.collective) {
    emit_collective(std::move(step), *move.collective);
  } else {
    step.action = KeepSlice{};
    made_.entry.steps.push_back(std::move(step));
  }
}

void TensorForms::emit_collective(Step step, const Collective& collective) {
  Step wait = step;
  step.action = StartCollective{collective, *step.as<RunKernel>()};
  wait.action = AwaitCollective{collective, made_.entry.steps.add(std::move(step))};
  made_.entry.steps.push_back(std::move(wait));
}

}  // namespace mtfc
