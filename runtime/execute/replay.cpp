#include "runtime/execute/replay.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/diagnostics/error.h"
#include "runtime/execute/counterparts.h"
#include "runtime/execute/rounding.h"

namespace mtfc {
namespace {

using Records = std::vector<Record>;

// A tensor as the replay goes on with it.
struct Known {
  HostTensor value;
  std::vector<double> magnitudes = {};  // empty: those of the elements
  size_t times = 0;                     // that it was made
  bool is_whole = false;  // the recorded run holds it whole, and in the same bits wherever it does
};

// The records that tell the content of a tensor when it is made for the `turn`-th time. Forms made less often are
// those of the last time, after the loop that makes the tensor.
std::vector<const Assembled*> records_of_turn(const std::vector<const Records*>& forms, size_t turn) {
  size_t times = 0;
  for (const Records* each : forms) times = std::max(times, each->size());
  std::vector<const Assembled*> made;
  for (const Records* each : forms) {
    if (each->size() == times && turn < times)
      made.push_back(&(*each)[turn]);
    else if (turn + 1 == times && !each->empty())
      made.push_back(&each->back());
  }
  return made;
}

// The magnitudes of the terms that devices hold of the tensor, if one of its forms is partial.
std::vector<double> terms_of_devices(const std::vector<const Assembled*>& forms) {
  std::vector<double> terms;
  for (const Assembled* form : forms)
    if (!form->magnitudes.empty()) terms = form->magnitudes;
  return terms;
}

// The form that operations that are not linear read, which is whole, with the magnitudes of a partial one.
Known chosen(const std::vector<const Assembled*>& forms) {
  const auto whole = std::find_if(forms.begin(), forms.end(), [](const Assembled* form) {
    return !form->is_partial && form->held.empty();
  });
  Known known{(whole == forms.end() ? forms.front() : *whole)->value};
  known.magnitudes = terms_of_devices(forms);
  known.is_whole =
      whole != forms.end() && std::all_of(forms.begin(), forms.end(), [&](const Assembled* form) {
        return form->is_partial || is_equal(*form, known.value);
      });
  return known;
}

// The steps that run kernels, by the values that they make.
PerValue<const Step*> makers_of(const EntryPoint& entry) {
  PerValue<const Step*> makers(entry.values.size(), nullptr);
  const auto add = [&](const Step& step) {
    if (!step.as<RunKernel>()) return;
    for (const ValueId id : step.outputs) makers[id] = &step;
  };
  for (const Step& step : entry.steps) {
    for (const Step& member : step.members()) add(member);
    add(step);
  }
  return makers;
}

class Replay {
 public:
  Replay(const Program& program, const EntryPoint& whole, const Recording& found,
         const ReplayOptions& options, Comparison& comparison)
      : program_(program),
        whole_(whole),
        found_(found),
        options_(options),
        comparison_(comparison),
        counterparts_(whole, *found.entry),
        makers_(makers_of(*found.entry)),
        aliases_(aliases_of(whole)),
        leaves_(leaves_of(whole)),
        known_(whole.values.size()) {}

  void run() {
    for (const ValueId id : leaves_.ids())
      if (leaves_[id] && whole_.values[id].buffer != kNoBuffer) take_leaf(id);
    for (size_t i = 0; i < whole_.steps.size(); i = next_step(i)) run_step(whole_.steps[i]);
    compare_outputs();
    compare_variables();
  }

 private:
  void judge(const Assembled& found, ExpectedTensor expected, MadeTensor place) {
    place.entry = whole_.name;
    place.step = found_.step;
    if (options_.tolerance > 0 && expected.rounding.of_terms > 0) {
      expected.rounding.of_terms = options_.tolerance;
      expected.rounding.of_result = 0;
    }
    compare(found, expected, std::move(place), comparison_);
  }

  // Inputs and variables are what the recording says they were.
  void take_leaf(ValueId id) {
    const ValueId own = counterparts_.own(id);
    if (own == kNoValue || found_.values[own].empty()) return;
    const Assembled& recorded = found_.values[own][0];
    known_[id] = {recorded.value, {}, 1, true};
    const MadeTensor place = {.name = whole_.values[id].name, .operation = "resharding"};
    judge(recorded, {recorded.value}, place);
    for (const ValueId form : counterparts_.forms(id))
      for (const Assembled& each : found_.values[form]) judge(each, {recorded.value}, place);
    take_aliases(id, place);
  }

  // Goes on with a tensor that was just made: as recorded, if it is, and as `value`, computed here, otherwise. What
  // rounding can make of it comes from `rounding`, if that is needed.
  template <typename RoundingOf>
  void take(ValueId id, HostTensor value, const MadeTensor& place, RoundingOf rounding) {
    Known& known = known_[id];
    const std::vector<const Assembled*> made = records_of_turn(forms_of(id), known.times);
    const size_t times = known.times + 1;
    ExpectedTensor expected{std::move(value), {}, terms_of_devices(made)};
    if (made.empty() || !std::all_of(made.begin(), made.end(),
                                     [&](const Assembled* each) { return is_equal(*each, expected.value); }))
      expected.rounding = rounding(expected.value);
    for (const Assembled* each : made) judge(*each, expected, place);
    if (made.empty()) {
      known = {std::move(expected.value), std::move(expected.rounding.magnitudes)};
    } else {
      ++comparison_.tensors;
      known = chosen(made);
    }
    known.times = times;
    if (const BufferId buffer = whole_.values[id].buffer;
        buffer != kNoBuffer && whole_.buffers[buffer].kind == BufferKind::kVariable)
      last_made_[whole_.buffers[buffer].offset] = id;
    if (!leaves_[id]) take_aliases(id, place);
  }

  std::vector<const Records*> forms_of(ValueId id) const {
    std::vector<const Records*> forms;
    if (const ValueId own = counterparts_.own(id); own != kNoValue) forms.push_back(&found_.values[own]);
    // The other forms of a leaf are those of its first content.
    if (!leaves_[id])
      for (const ValueId form : counterparts_.forms(id)) forms.push_back(&found_.values[form]);
    return forms;
  }

  void take_aliases(ValueId root, MadeTensor place) {
    for (const ValueId alias : aliases_[root]) {
      place.name = whole_.values[alias].name;
      place.operation = "relabelling";
      if (is_made_apart(alias, root)) {
        if (known_[root].times == 1) judge_apart(alias, root, place);
        known_[alias] = known_[root];
        known_[alias].value.type = whole_.values[alias].type;
        continue;
      }
      ExpectedTensor same = known(root, whole_.values[alias].type);
      take(alias, std::move(same.value), place, [&](const HostTensor&) { return same.rounding; });
    }
  }

  // Whether the recorded program makes the alias of a tensor more often than that tensor, or less often. In a loop, the
  // form that the alias is of may be made in every round, though the tensor stays as it is; or only after the last one.
  bool is_made_apart(ValueId alias, ValueId root) const {
    const Records& roots = most_often_made(root);
    const std::vector<const Records*> forms = forms_of(alias);
    return !roots.empty() && std::any_of(forms.begin(), forms.end(), [&](const Records* each) {
      return !each->empty() && each->size() != roots.size();
    });
  }

  // The records of the form of the tensor that is made most often.
  const Records& most_often_made(ValueId id) const {
    static const Records kNone;
    const Records* most = &kNone;
    for (const Records* each : forms_of(id))
      if (each->size() > most->size()) most = each;
    return *most;
  }

  // Compares each record of the alias with the last one of its tensor before it.
  void judge_apart(ValueId alias, ValueId root, const MadeTensor& place) {
    const Records& roots = most_often_made(root);
    for (const Records* each : forms_of(alias))
      for (const Record& made : *each) {
        const auto after = std::find_if(roots.begin(), roots.end(),
                                        [&](const Record& of) { return of.number > made.number; });
        const Record& of = after == roots.begin() ? roots.front() : *std::prev(after);
        ExpectedTensor same{of.value, rounding_of(of.value.type.dtype)};
        same.rounding.magnitudes = of.magnitudes;
        same.value.type = whole_.values[alias].type;
        ++comparison_.tensors;
        judge(made, std::move(same), place);
      }
  }

  // A tensor as it is known, perhaps under other dimensions. Other forms of it may differ by a reduction's rounding.
  ExpectedTensor known(ValueId id, const TensorType& type) const {
    ExpectedTensor same{known_[id].value, rounding_of(type.dtype)};
    same.rounding.magnitudes = known_[id].magnitudes;
    same.value.type = type;
    return same;
  }

  void run_step(const Step& step) {
    for (const Step& member : step.members()) run_step(member);
    const auto* kernel = step.as<RunKernel>();
    if (!kernel) return;
    std::vector<Operand> operands;
    std::vector<const HostTensor*> values;
    for (const ValueId id : step.inputs) {
      check_invariant(known_[id].times > 0, "a run is repeated from an operand that it does not have");
      operands.push_back({&known_[id].value, &known_[id].magnitudes});
      values.push_back(operands.back().value);
    }
    const WholeCall call{step.name, options_.seed, found_.step, rounds_.empty() ? 0 : round_};
    std::vector<HostTensor> results = computed(*kernel, values, global_types(whole_, step.outputs), call);
    const bool exact = reads_what_is_known(step);
    if (exact)
      for (Operand& operand : operands) operand.magnitudes = nullptr;
    for (size_t i = 0; i < results.size(); ++i)
      take(step.outputs[i], std::move(results[i]),
           {.name = whole_.values[step.outputs[i]].name,
            .operation = std::string(kernel->op->signature.name),
            .source = step.source},
           [&](const HostTensor& value) { return rounding_of(*kernel, operands, value, i, exact); });
  }

  // Whether the recorded run made the results of this step from operands that are known bit by bit. It may have added
  // up what it made of an operand's terms, or have computed it in another way.
  bool reads_what_is_known(const Step& step) const {
    for (const ValueId id : step.inputs)
      if (!known_[id].is_whole) return false;
    for (const ValueId id : step.outputs) {
      const Step* maker = maker_of(id);
      if (!maker || maker->as<RunKernel>()->op != step.as<RunKernel>()->op) return false;
      for (const ValueId read : maker->inputs)
        if (!found_.entry->values[read].sharding.partial.empty()) return false;
    }
    return true;
  }

  // The step of the recorded run that makes the tensor, in any form.
  const Step* maker_of(ValueId id) const {
    if (const ValueId own = counterparts_.own(id); own != kNoValue && makers_[own]) return makers_[own];
    for (const ValueId form : counterparts_.forms(id))
      if (makers_[form]) return makers_[form];
    return nullptr;
  }

  // Follows the loops as the executor does.
  size_t next_step(size_t index) {
    const Step& step = whole_.steps[index];
    if (step.as<BeginLoop>()) {
      rounds_.push_back(0);
      ++round_;
    } else if (const auto* leave = step.as<LeaveLoop>()) {
      if (numbers_of(known_[step.inputs[0]].value)[0] != 0) return index + 1;
      rounds_.pop_back();
      return leave->end.index() + 1;
    } else if (const auto* repeat = step.as<RepeatLoop>()) {
      ++round_;
      const int64_t times = whole_.steps[repeat->begin].as<BeginLoop>()->times;
      if (++rounds_.back() != times) return repeat->begin.index() + 1;
      rounds_.pop_back();
    }
    return index + 1;
  }

  void compare_outputs() {
    for (const Binding& output : whole_.outputs) {
      const auto recorded = found_.outputs.find(output.name);
      check_invariant(recorded != found_.outputs.end() && known_[output.value].times > 0,
                      "an output is not recorded");
      ++comparison_.tensors;
      judge(recorded->second, known(output.value, whole_.values[output.value].type),
            {.name = output.name, .operation = "output"});
    }
  }

  // A new value may have been computed in the memory of the variable, or copied there.
  void compare_variables() {
    for (size_t v = 0; v < program_.variables.size(); ++v) {
      const ProgramVariable& variable = program_.variables[v];
      const auto made = last_made_.find(variable.offset);
      const ExpectedTensor expected = made == last_made_.end() || variable.bytes == 0
                                          ? ExpectedTensor{found_.old_variables[v].value}
                                          : known(made->second, variable.decl.type);
      ++comparison_.tensors;
      judge(found_.variables[v], expected, {.name = "new " + variable.decl.name, .operation = "variable"});
    }
  }

  const Program& program_;
  const EntryPoint& whole_;
  const Recording& found_;
  const ReplayOptions& options_;
  Comparison& comparison_;
  const Counterparts counterparts_;
  const PerValue<const Step*> makers_;
  const PerValue<std::vector<ValueId>> aliases_;
  const PerValue<bool> leaves_;
  PerValue<Known> known_;
  std::map<int64_t, ValueId> last_made_;  // in the memory of a variable, by offset
  std::vector<int64_t> rounds_;           // done, of the loops around the step
  int64_t round_ = 0;                     // counts the rounds of all loops
};

}  // namespace

void replay(const Program& program, const EntryPoint& whole, const Recording& found,
            const ReplayOptions& options, Comparison& comparison) {
  Replay(program, whole, found, options, comparison).run();
}

}  // namespace mtfc
