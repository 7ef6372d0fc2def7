#include "core/cost/cost.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/program/collective_cost.h"
#include "core/program/node_traffic.h"
#include "core/program/ring.h"

namespace mtfc {
namespace {

// The axes along which devices compute different parts of a product of values in these shardings.
AxisList distinguishing_axes(const std::vector<Sharding>& shardings) {
  AxisList axes;
  for (const Sharding& sharding : shardings)
    for (const int axis : split_axes(sharding))
      if (!contains(axes, axis)) axes.push_back(axis);
  return axes;
}

std::vector<Sharding> shardings_of(const EntryPoint& entry, const Step& step) {
  std::vector<Sharding> shardings;
  for (const std::vector<ValueId>* values : {&step.inputs, &step.outputs})
    for (const ValueId id : *values) shardings.push_back(entry.values[id].sharding);
  return shardings;
}

// The flops of a product on all devices. The shards of a dimension add up to it, so they follow from the global sizes.
int64_t flops_of_all(const EntryPoint& entry, const Step& step, const std::vector<Sharding>& shardings,
                     const Mesh& mesh) {
  const std::vector<LocalType> operands = held_whole(global_types(entry, step.inputs)),
                               results = held_whole(global_types(entry, step.outputs));
  return step.op()->flops({step.attributes(), operands}, results) *
         (mesh.devices() / mesh.size(distinguishing_axes(shardings)));
}

StepCount collective_count(const EntryPoint& entry, const Step& step, const Mesh& mesh) {
  const CollectiveCost cost = largest_collective_cost(entry, step, mesh);
  StepCount count;
  count.elements = cost.elements;
  count.bytes_sent = cost.bytes_sent;
  return count;
}

// The collective that a step starts; that of a ring's turns.
std::optional<Collective> communication_of(const Step& step) {
  if (const auto* ring = step.as<RunRing>()) return Collective{CollectiveKind::kPermute, ring->axes};
  return step.kind() == StepKind::kStart ? std::optional(step.collective()) : std::nullopt;
}

StepCount operator*(const StepCount& count, int64_t times) {
  return {count.flops * times, count.flops_total * times, count.elements * times, count.bytes_sent * times,
          count.runs * times};
}

StepCount kernel_count(const EntryPoint& entry, const Step& step, const Mesh& mesh) {
  StepCount count;
  const std::vector<LocalType> operands = local_types(entry, step.inputs, mesh, mesh.last());
  count.flops =
      step.op()->flops({step.attributes(), operands}, local_types(entry, step.outputs, mesh, mesh.last()));
  if (is_product(*step.op())) count.flops_total = flops_of_all(entry, step, shardings_of(entry, step), mesh);
  return count;
}

StepCount ring_count(const EntryPoint& entry, const Step& step, const Mesh& mesh) {
  const Ring ring(entry, step, mesh);
  std::vector<Sharding> shardings = ring.operands_at_once();
  shardings.push_back(ring.result_at_once());
  const CollectiveCost cost = ring.largest_cost();
  StepCount count;
  count.flops = ring.flops(mesh.last());
  count.flops_total = flops_of_all(entry, step, shardings, mesh);
  count.elements = cost.elements;
  count.bytes_sent = cost.bytes_sent;
  return count;
}

void add(CollectiveTotals& totals, const StepCount& count) {
  totals.count += count.runs;
  totals.elements += count.elements;
  totals.bytes_sent += count.bytes_sent;
}

void add_steps(const EntryPoint& entry, const Mesh& mesh, const std::vector<StepCount>& counts,
               CostReport& report) {
  for (size_t s = 0; s < entry.steps.size(); ++s) {
    const Step& step = entry.steps[s];
    if (step.kind() == StepKind::kWait || is_control(step.kind())) continue;
    const bool multiplies = step.multiplies();
    const std::optional<Collective> collective = communication_of(step);
    if (collective) {
      add(report.communication.total, counts[s]);
      if (is_combined(step))
        report.communication.joined += counts[s].runs * (static_cast<int64_t>(step.inputs.size()) - 1);
      add(report.communication.by_kind[to_string(collective->kind)], counts[s]);
      add(report.communication.by_axis[mesh.names(collective->axes)], counts[s]);
    }
    if (multiplies) {
      report.arithmetic.einsum_per_device += counts[s].flops;
      report.arithmetic.einsum_total += counts[s].flops_total;
    } else {
      report.arithmetic.other_per_device += counts[s].flops;
    }
    report.steps.push_back({step.name, kind_of(step), step.source, step.phase,
                            collective ? collective->axes : AxisList{}, counts[s],
                            report.time ? report.time->steps[s] : StepTime{}, static_cast<int>(s), multiplies,
                            is_combined(step) ? step.inputs.size() - 1 : 0});
  }
}

void add_parameters(const Program& program, CostReport& report) {
  for (const ProgramVariable& variable : program.variables) {
    const bool is_state = variable.decl.optimizer_state;
    (is_state ? report.memory.optimizer_state : report.memory.variables) += variable.bytes;
    if (!variable.decl.group.empty()) {
      GroupMemory& group = report.memory.groups[variable.decl.group];
      (is_state ? group.optimizer_state : group.variables) += variable.bytes;
    }
    if (!variable.decl.trainable) continue;
    report.parameters.count += elements(variable.decl.type.dims);
    if (!variable.decl.group.empty())
      report.parameters.groups[variable.decl.group] += elements(variable.decl.type.dims);
    report.parameters.bytes += bytes(variable.decl.type);
    report.parameters.bytes_per_device += variable.bytes;
  }
}

// Finds the step at which the live buffers take the most bytes, and lists them.
void add_memory(const Program& program, const EntryPoint& entry, CostReport& report) {
  MemoryUse use = memory_use(entry);
  for (const ProgramVariable& cache : entry.caches) report.memory.caches += cache.bytes;
  report.memory.peak = entry.arena_bytes;
  report.memory.variable_copies = use.variable_copies[use.peak];
  report.memory.inputs = use.inputs[use.peak];
  report.memory.activations_at_peak = use.activations[use.peak];
  report.memory.gradients = use.gradients[use.peak];
  report.memory.workspace = use.workspace[use.peak];
  report.memory.gaps = report.memory.peak - report.memory.variables - report.memory.optimizer_state -
                       report.memory.caches - use.at(use.peak);
  if (use.peak < entry.steps.size()) report.memory.peak_step = entry.steps[use.peak].name;
  report.alive_at_peak = alive_at(program, entry, use.peak);
  report.memory_over_steps = std::move(use);
}

void add_tensors(const EntryPoint& entry, const Mesh& mesh, CostReport& report) {
  const Coordinates first(mesh.axes().size(), 0), last = mesh.last();
  for (const Value& value : entry.values) {
    if (!value.from_model) continue;
    TensorCost tensor{value.name, value.type.dims, value.sharding, {}, {}};
    for (const LocalDim& dim : local_dims(value.type.dims, value.sharding, mesh, last))
      tensor.local_shape.push_back(dim.size);
    for (const LocalDim& dim : local_dims(value.type.dims, value.sharding, mesh, first))
      tensor.local_shape_min.push_back(dim.size);
    report.tensors.push_back(std::move(tensor));
  }
}

}  // namespace

std::string kind_of(const Step& step) {
  if (step.kind() == StepKind::kKernel) return std::string(step.op()->signature.name);
  if (step.kind() == StepKind::kRing) return "ring " + std::string(step.op()->signature.name);
  const bool communicates = step.kind() == StepKind::kStart || step.kind() == StepKind::kWait;
  return communicates ? to_string(step.collective().kind) : to_string(step.kind());
}

std::vector<StepCount> predicted_counts(const Program& program, const EntryPoint& entry) {
  const Mesh& mesh = program.mesh();
  std::vector<StepCount> counts;
  const std::vector<int64_t> times = repetitions(entry);
  for (size_t s = 0; s < entry.steps.size(); ++s) {
    const Step& step = entry.steps[s];
    StepCount count;
    if (step.kind() == StepKind::kKernel)
      count = kernel_count(entry, step, mesh);
    else if (step.kind() == StepKind::kFused)
      for (const Step& member : step.members()) count.flops += kernel_count(entry, member, mesh).flops;
    else if (step.kind() == StepKind::kRing)
      count = ring_count(entry, step, mesh);
    else if (step.kind() == StepKind::kStart)
      count = collective_count(entry, step, mesh);
    counts.push_back(count * times[s]);
  }
  return counts;
}

int64_t kernel_work(const Program& program, const EntryPoint& entry, int64_t enough) {
  constexpr int64_t kOtherFlop = 16;
  const Mesh& mesh = program.mesh();
  const std::vector<int64_t> times = repetitions(entry);
  const auto of = [&](const Step& step) {
    const int64_t flops = step.kind() == StepKind::kRing ? Ring(entry, step, mesh).flops(mesh.last())
                                                         : kernel_count(entry, step, mesh).flops;
    return flops * (step.multiplies() ? 1 : kOtherFlop);
  };
  int64_t work = 0;
  for (size_t s = 0; s < entry.steps.size() && work < enough; ++s) {
    const Step& step = entry.steps[s];
    if (step.kind() == StepKind::kKernel || step.kind() == StepKind::kRing) work += of(step) * times[s];
    if (step.kind() == StepKind::kFused)
      for (const Step& member : step.members()) work += of(member) * times[s];
  }
  return std::min(work, enough);
}

CostReport cost_report(const Program& program, const EntryPoint& entry, const std::vector<StepCount>& counts,
                       const Hardware* hardware) {
  CostReport report;
  report.model = program.model;
  report.entry = entry.name;
  report.layout = program.layout;
  report.warnings = program.warnings;
  report.plan = entry.plan;
  report.arithmetic.einsum_useful = entry.useful.flops;
  if (hardware) {
    report.time = predicted_time(program, entry, counts, *hardware);
    report.device_memory = memory_of(*hardware);
  }
  add_parameters(program, report);
  add_steps(entry, program.mesh(), counts, report);
  ArithmeticCost& flops = report.arithmetic;
  if (flops.einsum_useful > 0)
    flops.duplication = static_cast<double>(flops.einsum_total) / static_cast<double>(flops.einsum_useful);
  if (flops.einsum_total > 0)
    flops.imbalance = static_cast<double>(flops.einsum_per_device) / static_cast<double>(flops.einsum_total) *
                      static_cast<double>(program.mesh().devices());
  add_memory(program, entry, report);
  add_tensors(entry, program.mesh(), report);
  report.training = training_cost(program, report, {});
  return report;
}

int64_t NodeTotals::most() const {
  return bytes_sent.empty() ? 0 : *std::max_element(bytes_sent.begin(), bytes_sent.end());
}
int64_t NodeTotals::all() const {
  return std::accumulate(bytes_sent.begin(), bytes_sent.end(), int64_t{0});
}

void add_node_traffic(const Program& program, const EntryPoint& entry, const std::vector<int>& nodes,
                      CostReport& report) {
  report.communication.between_nodes =
      NodeTotals{bytes_between_nodes(entry, program.mesh(), numbered_nodes(nodes))};
}

int64_t excess_memory(const CostReport& report) {
  return report.device_memory > 0 ? std::max<int64_t>(0, report.memory.peak - report.device_memory) : 0;
}

int64_t plan_cost(const CostReport& report) {
  const CollectiveTotals& sent = report.communication.total;
  return sent.bytes_sent + (sent.count + report.communication.joined) * kPlanBytesPerCollective +
         report.arithmetic.einsum_per_device / kPlanFlopsPerByte;
}

// Infinite if no bound is known.
double plan_gap(const PlanFigures& plan) {
  if (plan.cost <= plan.bound) return 0;
  if (plan.bound <= 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(plan.cost - plan.bound) / static_cast<double>(plan.bound);
}

int64_t bytes_alive(const CostReport& report, const StepCost& step) {
  const size_t at = static_cast<size_t>(step.index);
  return report.memory.variables + report.memory.optimizer_state + report.memory.caches +
         (at < report.memory_over_steps.inputs.size() ? report.memory_over_steps.at(at) : 0);
}

}  // namespace mtfc
