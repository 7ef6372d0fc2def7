#include "core/program/reshard_list.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/program/collective_cost.h"

namespace mtfc {
namespace {

// The operations of an entry point: kernels, members of fused steps, and exchanges that do the work of an operation.
class Operations {
 public:
  Operations(const Program& program, const EntryPoint& entry) : program_(program), entry_(entry) {
    for (const Step& step : entry.steps) {
      if (step.kind() == StepKind::kWait) continue;  // the start has the same inputs and outputs
      if (step.members().empty())
        add(step);
      else
        for (const Step& member : step.members()) add(member);
    }
  }

  OperationPlace maker(ValueId id) const {
    std::set<ValueId> seen;
    for (ValueId value = root_of(entry_, id); seen.insert(value).second;) {
      const auto made = makers_.find(value);
      if (made == makers_.end()) return leaf(value);
      const Step& step = *made->second;
      if (step.op()) return place_of(step);
      if (step.inputs.empty()) break;
      value = root_of(entry_, step.inputs[is_combined(step) ? position(step.outputs, value) : 0]);
    }
    return leaf(root_of(entry_, id));
  }

  std::vector<OperationPlace> readers(ValueId id) const {
    std::vector<OperationPlace> found;
    std::set<ValueId> seen;
    add_readers(root_of(entry_, id), found, seen);
    return found;
  }

 private:
  void add(const Step& step) {
    for (const ValueId id : step.outputs) makers_.emplace(root_of(entry_, id), &step);
    for (const ValueId id : step.inputs) readers_[root_of(entry_, id)].push_back(&step);
  }

  // The position of a value, or an alias of it, in a list that holds it.
  size_t position(const std::vector<ValueId>& values, ValueId root) const {
    const auto at =
        std::find_if(values.begin(), values.end(), [&](ValueId id) { return root_of(entry_, id) == root; });
    return static_cast<size_t>(at - values.begin());
  }

  OperationPlace place_of(const Step& step) const {
    OperationPlace place{tensor_name(step.name), std::string(step.op()->signature.name), step.source, {}};
    for (const std::vector<ValueId>* values : {&step.inputs, &step.outputs})
      for (const ValueId id : *values) place.tensors.push_back(tensor_name(entry_.values[id]));
    return place;
  }

  OperationPlace leaf(ValueId value) const {
    if (const std::string variable = variable_of(value); !variable.empty())
      return {variable, "variable", "", {}};
    return {tensor_name(entry_.values[value]), "input", "", {}};
  }

  // The variable or cache in whose memory the value is, under its own name or that of a new value; "" if in none.
  std::string variable_of(ValueId value) const {
    const BufferId id = entry_.values[value].buffer;
    if (id == kNoBuffer || entry_.buffers[id].kind != BufferKind::kVariable) return "";
    const int64_t offset = entry_.buffers[id].offset;
    for (const std::vector<ProgramVariable>* variables : {&program_.variables, &entry_.caches})
      for (const ProgramVariable& variable : *variables)
        if (variable.offset == offset && variable.bytes > 0) return variable.decl.name;
    return tensor_name(entry_.values[value]);
  }

  void add_readers(ValueId value, std::vector<OperationPlace>& found, std::set<ValueId>& seen) const {
    if (!seen.insert(value).second) return;
    const auto add_new = [&](OperationPlace place) {
      if (std::find(found.begin(), found.end(), place) == found.end()) found.push_back(std::move(place));
    };
    if (const auto readers = readers_.find(value); readers != readers_.end())
      for (const Step* step : readers->second) {
        if (step->op())
          add_new(place_of(*step));
        else if (is_combined(*step))
          add_readers(root_of(entry_, step->outputs[position(step->inputs, value)]), found, seen);
        else if (!is_control(step->kind()))
          for (const ValueId next : step->outputs) add_readers(root_of(entry_, next), found, seen);
      }
    for (const Binding& output : entry_.outputs)
      if (root_of(entry_, output.value) == value) add_new({output.name, "output", "", {}});
    if (const std::string variable = variable_of(value); !variable.empty() && makers_.contains(value))
      add_new({variable, "variable", "", {}});
  }

  const Program& program_;
  const EntryPoint& entry_;
  std::map<ValueId, const Step*> makers_;
  std::map<ValueId, std::vector<const Step*>> readers_;
};

// The reshard that a collective of one result makes, wherever it stands.
ReshardStep reshard_of(const Program& program, const EntryPoint& entry, const Step& step,
                       const Operations& operations) {
  const Value& from = entry.values[step.inputs[0]];
  const Value& to = entry.values[step.outputs[0]];
  ReshardStep reshard;
  reshard.tensor = tensor_name(from);
  reshard.collective = step.collective();
  reshard.from = {from.type.dims, from.sharding};
  reshard.to = {to.type.dims, to.sharding};
  if (step.op()) reshard.moves = step.op()->signature.name;
  reshard.maker = operations.maker(step.inputs[0]);
  reshard.readers = operations.readers(step.outputs[0]);
  reshard.bytes = largest_collective_cost(entry, step, program.mesh()).bytes_sent;
  return reshard;
}

}  // namespace

std::string target_text(const ReshardStep& reshard, const Mesh& mesh) {
  return reshard.moves.empty() ? to_string(reshard.to, mesh) : reshard.moves;
}

std::vector<ReshardStep> reshard_steps(const Program& program, const EntryPoint& entry) {
  const Operations operations(program, entry);
  const std::vector<int64_t> runs = repetitions(entry);
  std::vector<ReshardStep> found;
  for (const StepIndex s : entry.steps.ids()) {
    const Step& step = entry.steps[s];
    if (step.kind() != StepKind::kStart) continue;
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      Step alone = step;
      alone.outputs = {step.outputs[i]};
      if (is_combined(step)) alone.inputs = {step.inputs[i]};
      found.push_back(reshard_of(program, entry, alone, operations));
      found.back().step = s;
      found.back().runs = runs[s.index()];
      if (is_combined(step)) found.back().others = step.outputs.size() - 1;
    }
  }
  return found;
}

std::vector<ReshardStep> largest(std::vector<ReshardStep> reshards, size_t count) {
  std::stable_sort(reshards.begin(), reshards.end(),
                   [](const ReshardStep& a, const ReshardStep& b) { return a.all_bytes() > b.all_bytes(); });
  if (reshards.size() > count) reshards.resize(count);
  return reshards;
}

}  // namespace mtfc
