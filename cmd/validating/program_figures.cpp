#include "cmd/validating/program_figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

#include "core/cost/collective_time.h"
#include "core/cost/cost.h"
#include "core/cost/kernel_time.h"
#include "core/program/repeated_names.h"

namespace mtfc {
namespace {

double between(double from, double to, double factor) {
  return from + factor * (to - from);
}

PerZone between(const PerZone& from, const PerZone& to, double factor) {
  PerZone all;
  for (size_t zone = 0; zone < all.size(); ++zone) all[zone] = between(from[zone], to[zone], factor);
  return all;
}

std::map<std::string, double> between(const std::map<std::string, double>& from,
                                      const std::map<std::string, double>& to, double factor) {
  std::map<std::string, double> all;
  for (const auto* map : {&from, &to})
    for (const auto& [name, unused] : *map) {
      const auto first = from.find(name), second = to.find(name);
      all[name] =
          between(first == from.end() ? 0 : first->second, second == to.end() ? 0 : second->second, factor);
    }
  return all;
}

// The steps of a microbatch by zones, as they follow each other: embedding, layers, head, and back. Steps around the
// loop over microbatches, which cast or gather variables for all of them, are in the zones of none.
class Zones {
 public:
  Zones(const EntryPoint& entry, const std::vector<StepCount>& counts, int64_t rounds)
      : entry_(entry), counts_(counts), rounds_(rounds) {
    for (size_t s = 0; s < entry.steps.size(); ++s)
      if (is_layers(s) && entry.steps[s].phase == Phase::kForward) forward_.add(s);
    // Steps of the forward pass may have taken in operations of the backward pass, and collectives for the backward
    // pass of layers may begin while the head is at work: that pass begins with a product.
    for (size_t s = forward_.last; s < entry.steps.size(); ++s)
      if (is_layers(s) && entry.steps[s].phase == Phase::kBackward)
        if (backward_.last > 0 || counts[s].flops > 0) backward_.add(s);
  }

  // The last component of a name may be numbered for another reason, as in `loss/sub_1`.
  static bool is_in_layer(std::string_view name) {
    const size_t slash = name.rfind('/');
    return slash != std::string_view::npos && !repetition(name.substr(0, slash)).empty();
  }
  bool is_of_round(size_t s) const {
    return rounds_ > 1 ? counts_[s].runs >= rounds_ : entry_.steps[s].phase != Phase::kUpdate;
  }

  Zone of(size_t s) const {
    const Step& step = entry_.steps[s];
    const bool is_behind = s > forward_.last && s < backward_.first;
    if (is_in_layer(step.name) && !is_behind) return kLayers;
    if (step.phase == Phase::kForward || s < forward_.last)
      return s < forward_.first ? kBefore : s > forward_.last ? kBehind : kLayers;
    return s < backward_.first ? kBehind : s > backward_.last ? kBefore : kLayers;
  }

 private:
  struct Range {
    size_t first = std::numeric_limits<size_t>::max(), last = 0;
    void add(size_t s) {
      first = std::min(first, s);
      last = std::max(last, s);
    }
  };
  bool is_layers(size_t s) const { return is_of_round(s) && is_in_layer(entry_.steps[s].name); }

  const EntryPoint& entry_;
  const std::vector<StepCount>& counts_;
  const int64_t rounds_;
  Range forward_, backward_;
};

// The zones whose forward steps read each variable, or what steps around the loop over microbatches make of it.
std::map<std::string, std::set<Zone>> readers_of_variables(const Program& program, const EntryPoint& entry,
                                                           const Zones& zones) {
  std::map<ValueId, std::set<std::string>> made_of;
  std::map<std::string, std::set<Zone>> readers;
  for (const ProgramVariable& variable : program.variables) readers[variable.decl.name];
  for (const ValueId id : entry.values.ids())
    if (const std::string name = tensor_name(entry.values[id]); readers.contains(name)) made_of[id] = {name};
  for (size_t s = 0; s < entry.steps.size(); ++s) {
    const Step& step = entry.steps[s];
    if (step.phase != Phase::kForward) continue;
    for (const ValueId input : step.inputs)
      for (const std::string& variable : made_of[root_of(entry, input)]) {
        if (zones.is_of_round(s)) readers[variable].insert(zones.of(s));
        for (const ValueId output : step.outputs)
          if (!zones.is_of_round(s)) made_of[root_of(entry, output)].insert(variable);
      }
  }
  return readers;
}

// The bytes of variables and of their state by zones. Names of state begin with that of the variable:
// `wte/weight/stored` and `wte/weight/adamw/mean` belong to wte/weight.
PerZone state_by_zone(const Program& program, const EntryPoint& entry, const Zones& zones) {
  const auto readers = readers_of_variables(program, entry, zones);
  PerZone bytes = {};
  for (const ProgramVariable& variable : program.variables) {
    const auto size = static_cast<double>(variable.bytes);
    if (Zones::is_in_layer(variable.decl.name)) {
      bytes[kLayers] += size;
      continue;
    }
    const std::string scope =
        variable.decl.name.substr(0, variable.decl.name.find('/', variable.decl.name.find('/') + 1));
    std::set<Zone> used;
    for (const auto& [name, by] : readers)
      if (name.starts_with(scope)) used.insert(by.begin(), by.end());
    used.erase(kLayers);
    if (used.empty()) used = {kBehind};
    for (const Zone zone : used) bytes[zone] += size;
  }
  return bytes;
}

// The bytes of gradients of all trained variables of a device, as the rules split them: no stage of ZeRO splits what a
// microbatch gives.
double held_gradient_bytes(const Program& program, RowHeldGradients held) {
  if (held == RowHeldGradients::kNone) return 0;
  double bytes = 0;
  for (const ProgramVariable& variable : program.variables) {
    const Dims& dims = variable.decl.type.dims;
    if (!variable.decl.trainable || variable.decl.optimizer_state) continue;
    const Sharding sharding = legal_sharding_by_rules(program.layout, dims);
    const LocalDims local = local_dims(dims, sharding, program.mesh(), program.mesh().coordinates(0));
    bytes += static_cast<double>(elements(local)) * (held == RowHeldGradients::kBF16 ? 2 : 4);
  }
  return bytes;
}

std::string spent_on(const StepCost& step, const Mesh& mesh) {
  if (!step.axes.empty()) return fmt::format("{} over {}", step.kind, mesh.names(step.axes));
  if (step.phase == Phase::kUpdate) return "update";
  if (step.kind.find("attention") != std::string::npos) return "attention";
  return step.is_product ? "products" : "other kernels";
}

// True for an all_gather of a variable, or of what it is as bf16.
bool gathers_parameter(const Program& program, const Step& step) {
  if (step.collective().kind != CollectiveKind::kAllGather) return false;
  std::string name = tensor_name(step.name);
  if (name.ends_with(kAgain)) name.resize(name.size() - kAgain.size());
  return std::any_of(program.variables.begin(), program.variables.end(),
                     [&](const ProgramVariable& variable) {
                       return name == variable.decl.name || name == variable.decl.name + "/bf16";
                     });
}

constexpr double kActivationBytes = 2;  // of an element that a layer passes on

// The time of a microbatch in the loop over them.
RunTime round_time(const TimeCost& time, int64_t rounds) {
  RunTime most;
  for (const LoopTime& loop : time.loops)
    if (loop.rounds == rounds && loop.round_s > most.seconds())
      most = {loop.device_round_s, loop.issue_round_s};
  return most;
}

}  // namespace

ProgramFigures ProgramFigures::towards(const ProgramFigures& other, double factor) const {
  ProgramFigures all;
  for (double ProgramFigures::*const figure :
       {&ProgramFigures::useful_s, &ProgramFigures::peak_bytes, &ProgramFigures::state_bytes,
        &ProgramFigures::backward_s, &ProgramFigures::sent_on_bytes})
    all.*figure = between(this->*figure, other.*figure, factor);
  for (PerZone ProgramFigures::*const figure :
       {&ProgramFigures::round_zone_s, &ProgramFigures::zone_state_bytes, &ProgramFigures::zone_peak_bytes,
        &ProgramFigures::zone_gradient_bytes})
    all.*figure = between(this->*figure, other.*figure, factor);
  for (RunTime ProgramFigures::*const time : {&ProgramFigures::step, &ProgramFigures::round})
    all.*time = {between((this->*time).device, (other.*time).device, factor),
                 between((this->*time).processor, (other.*time).processor, factor)};
  all.reduction = reduction;
  all.reduction.seconds = between(reduction.seconds, other.reduction.seconds, factor);
  all.once_s = between(once_s, other.once_s, factor);
  all.of_round_s = between(of_round_s, other.of_round_s, factor);
  return all;
}

CountedProgram::CountedProgram(Program compiled, int64_t microbatches, int64_t depth, Conventions of_run)
    : program(std::move(compiled)), rounds(microbatches), layers(depth), conventions(of_run) {
  const EntryPoint& entry = *program.find("train");
  counts = predicted_counts(program, entry);
  traffic = memory_traffic(entry, program.mesh());
  const CostReport report = cost_report(program, entry, counts, nullptr);
  const Zones zones(entry, counts, rounds);
  for (const StepCost& step : report.steps) {
    const auto index = static_cast<size_t>(step.index);
    const auto* started = entry.steps[index].as<StartCollective>();
    steps.push_back({index, spent_on(step, program.mesh()), zones.is_of_round(index),
                     step.phase == Phase::kBackward, started && reduces(started->collective.kind),
                     tensor_name(step.name).ends_with(kAgain), step.is_product || !step.axes.empty(),
                     started && gathers_parameter(program, entry.steps[index]), zones.of(index)});
  }
  const double held_bytes = held_gradient_bytes(program, conventions.held);
  untimed.peak_bytes = static_cast<double>(report.memory.peak) + held_bytes;
  untimed.state_bytes = static_cast<double>(report.memory.variables + report.memory.optimizer_state);
  untimed.zone_state_bytes = state_by_zone(program, entry, zones);
  const MemoryUse& use = report.memory_over_steps;
  for (size_t s = 0; s < entry.steps.size(); ++s) {
    if (!zones.is_of_round(s)) continue;
    const Zone zone = zones.of(s);
    const auto bytes = static_cast<double>(use.inputs[s] + use.activations[s] + use.workspace[s]);
    if (bytes <= untimed.zone_peak_bytes[zone]) continue;
    untimed.zone_peak_bytes[zone] = bytes;
    untimed.zone_gradient_bytes[zone] =
        static_cast<double>(use.gradients[s] + use.variable_copies[s]) + held_bytes;
  }
  int64_t tokens = 0;
  for (const InputDecl& input : program.inputs) tokens = std::max(tokens, elements(input.type.dims));
  if (const auto width = program.names.find("d_model"); width != program.names.end())
    untimed.sent_on_bytes = static_cast<double>(tokens / rounds) * width->second * kActivationBytes /
                            static_cast<double>(program.mesh().devices());
}

ProgramFigures program_figures(const CountedProgram& counted, const Hardware& hardware) {
  const Program& program = counted.program;
  const EntryPoint& entry = *program.find("train");
  const TimeCost time = predicted_time(program, entry, counted.counts, hardware,
                                       kernel_times(entry, program.mesh(), hardware, counted.traffic));
  const auto rounds = static_cast<double>(counted.rounds);
  ProgramFigures figures = counted.untimed;
  figures.step = {time.device_s, time.issue_s > 0 ? time.issue_s + hardware.program_overhead_s : 0};
  figures.round = counted.rounds > 1 ? round_time(time, counted.rounds) : figures.step;
  figures.useful_s = useful_seconds_at_peak(program.mesh(), entry, hardware);
  double kernels = 0, backward = 0, unrepeated = 0;
  for (const CountedProgram::Counted& step : counted.steps) {
    const double seconds = time.steps[step.index].seconds;
    if (seconds <= 0) continue;
    (step.is_repeated ? figures.of_round_s : figures.once_s)[step.spent_on] +=
        seconds / (step.is_repeated ? rounds : 1);
    if (step.is_repeated) figures.round_zone_s[step.zone] += seconds / rounds;
    if (step.is_repeated) (step.is_backward ? backward : kernels) += seconds;
    if (step.is_repeated && step.is_heavy && step.zone == kLayers && step.is_backward == step.is_again)
      unrepeated += (step.is_again ? -seconds : seconds) / rounds;
    if (step.is_repeated && step.is_gather && step.is_again &&
        counted.conventions.recompute == RowRecompute::kRefetched)
      unrepeated += seconds / rounds;
    if (step.is_repeated || !step.reduces || rounds <= 1) continue;
    const Collective& over = entry.steps[step.index].collective();
    const CollectiveTime link = collective_time(over.kind, over.axes, program.mesh(), 0, hardware);
    Reduction& reduction = figures.reduction;
    reduction.seconds += seconds;
    reduction.slows_kernels = std::max(reduction.slows_kernels, link.slows_kernels);
    reduction.slowed_by_kernels = std::max(reduction.slowed_by_kernels, link.slowed_by_kernels);
  }
  if (counted.conventions.recompute >= RowRecompute::kWhole) {
    figures.step.device += rounds * unrepeated;
    figures.round.device += unrepeated;
    figures.round_zone_s[kLayers] += unrepeated;
    figures.of_round_s["layers to their ends again"] = unrepeated;
  }
  if (backward > 0) figures.backward_s = figures.round.seconds() * backward / (backward + kernels);
  return figures;
}

ProgramFigures DepthFigures::at(double layers) const {
  if (shallow_layers == deep_layers) return shallow;
  return shallow.towards(deep, (layers - shallow_layers) / (deep_layers - shallow_layers));
}

}  // namespace mtfc
