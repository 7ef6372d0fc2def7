#include <fmt/format.h>

#include <algorithm>

#include "core/cost/cost.h"
#include "core/diagnostics/printable.h"
#include "core/program/ring.h"
#include "formats/program/program_writer.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

// `h`, or for an alias the value that a step made: `h as [tokens, model]`.
std::string value_text(const EntryPoint& entry, ValueId id) {
  const Value& value = entry.values[id];
  const Value& made = entry.values[root_of(entry, id)];
  std::string dims;
  for (const Dim& dim : value.type.dims) dims += (dims.empty() ? "" : ", ") + dim.name;
  return printable(value.type.dims == made.type.dims ? made.name
                                                     : fmt::format("{} as [{}]", made.name, dims));
}

std::string names(const EntryPoint& entry, const std::vector<ValueId>& values) {
  std::string text;
  for (const ValueId id : values) text += (text.empty() ? "" : ", ") + value_text(entry, id);
  return text;
}

std::string loop_text(const Step& step) {
  const auto* loop = step.as<BeginLoop>();
  return loop && loop->times > 0 ? fmt::format("loop {} times", loop->times) : "loop";
}

std::string kind_text(const Step& step) {
  switch (step.kind()) {
    case StepKind::kKernel:
      return std::string(step.op()->signature.name);
    case StepKind::kStart:
      return "start " + to_string(step.collective().kind) +
             (step.op() ? " for " + std::string(step.op()->signature.name) : "");
    case StepKind::kWait:
      return "wait " + to_string(step.collective().kind);
    case StepKind::kRing:
      return "ring " + std::string(step.op()->signature.name);
    case StepKind::kLoop:
      return loop_text(step);
    case StepKind::kLeave:
      return "leave unless";
    case StepKind::kFused:
    case StepKind::kSlice:
    case StepKind::kRepeat:
      break;
  }
  return to_string(step.kind());
}

std::string result_text(const EntryPoint& entry, const Step& step, const Mesh& mesh) {
  std::string text;
  for (const ValueId id : step.outputs) {
    const Value& value = entry.values[id];
    text +=
        fmt::format("{}{}: {}", text.empty() ? "" : ", ", printable(value.name), local_shape(value, mesh));
  }
  return text;
}

std::string step_line(const EntryPoint& entry, const Step& step, const StepCount& count, const Mesh& mesh) {
  const std::string result = result_text(entry, step, mesh);
  std::string line = result.empty() ? "" : result + " = ";
  line += kind_text(step);
  if (step.kind() != StepKind::kWait && step.kind() != StepKind::kLoop && step.kind() != StepKind::kRepeat)
    line += fmt::format("({})", names(entry, step.inputs));
  for (const auto& [name, value] : step.attributes().entries())
    line += fmt::format(" {}={}", printable(name), printable(to_string(value)));
  if (const auto* ring = step.as<RunRing>()) {
    line +=
        fmt::format(", {} turns over {}, {} elements, {} bytes sent", value_text(entry, turning_value(step)),
                    mesh.names(ring->axes), grouped(count.elements), grouped(count.bytes_sent));
  }
  if (step.kind() == StepKind::kStart) {
    if (reduces(step.collective().kind)) line += fmt::format(" {}", to_string(step.collective().reduce));
    line += fmt::format(" over {}, {} elements, {} bytes sent", mesh.names(step.collective().axes),
                        grouped(count.elements), grouped(count.bytes_sent));
  }
  return line;
}

// Returns the members of a fused step, one line each.
std::string member_lines(const EntryPoint& entry, const Step& step, const Mesh& mesh, size_t indent) {
  std::string text;
  for (const Step& member : step.members())
    text += fmt::format("        {:{}}{}\n", "", indent, step_line(entry, member, {}, mesh));
  return text;
}

std::string bindings_line(const char* label, const EntryPoint& entry, const std::vector<Binding>& bindings) {
  std::string text;
  for (const Binding& binding : bindings) {
    const std::string value = value_text(entry, binding.value), name = printable(binding.name);
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
    if (value != name) text += fmt::format(" = {}", value);
  }
  return text.empty() ? "" : fmt::format("  {} {}\n", label, text);
}

// The splits of an optimizer's state beyond the rules: `, hidden also over rows`.
std::string split_beyond_rules(const ProgramVariable& variable, const Layout& layout) {
  const Sharding by_rules = sharding_by_rules(layout, variable.decl.type.dims);
  std::string text;
  for (size_t i = 0; i < by_rules.dims.size(); ++i) {
    AxisList more = variable.sharding.dims[i];
    std::erase_if(more, [&](int axis) {
      return std::find(by_rules.dims[i].begin(), by_rules.dims[i].end(), axis) != by_rules.dims[i].end();
    });
    if (!more.empty())
      text += fmt::format(", {} also over {}", printable(variable.decl.type.dims[i].name),
                          layout.mesh.names(more));
  }
  return text;
}

std::string variable_line(const ProgramVariable& variable, const Layout& layout) {
  const Mesh& mesh = layout.mesh;
  const Value local{variable.decl.name, variable.decl.type, variable.sharding, kNoBuffer};
  return fmt::format("  {}: {} at {}, {} bytes{}", printable(variable.decl.name), local_shape(local, mesh),
                     variable.offset, grouped(variable.bytes),
                     variable.decl.optimizer_state ? ", optimizer state" : "") +
         split_beyond_rules(variable, layout) + "\n";
}

}  // namespace

std::string local_shape(const Value& value, const Mesh& mesh) {
  const Coordinates first(mesh.axes().size(), 0);
  const LocalDims least = local_dims(value.type.dims, value.sharding, mesh, first);
  const LocalDims most = largest_dims(value.type.dims, value.sharding, mesh);
  std::string text;
  for (size_t i = 0; i < most.size(); ++i) {
    text += fmt::format("{}{}=", text.empty() ? "" : ", ", printable(most[i].name));
    if (least[i].size != most[i].size) text += fmt::format("{}..", least[i].size);
    text += fmt::format("{}", most[i].size);
  }
  return fmt::format("{}[{}]", to_string(value.type.dtype), text);
}

namespace {

std::string plan_line(const PlanFigures& plan) {
  const bool timed = !plan.hardware.empty();
  const std::string gap = plan_gap(plan) == 0 ? "the least that is possible"
                          : timed ? fmt::format("at most {:.2g} % above the least", 100 * plan_gap(plan))
                                  : fmt::format("at least {} is needed", grouped(plan.bound));
  const std::string cost = timed ? fmt::format("{} of kernels and collectives on {}",
                                               seconds_text(plan_seconds(plan)), printable(plan.hardware))
                                 : "cost " + grouped(plan.cost);
  return fmt::format("  plan    {}, {}\n", cost, gap);
}

}  // namespace

std::string entry_text(const Program& program, const EntryPoint& entry) {
  const std::vector<StepCount> counts = predicted_counts(program, entry);
  std::string text = fmt::format("\n{}: {} steps, arena {} bytes\n", printable(entry.name),
                                 entry.steps.size(), grouped(entry.arena_bytes));
  if (entry.plan) text += plan_line(*entry.plan);
  for (const ProgramVariable& cache : entry.caches) text += "  cache" + variable_line(cache, program.layout);
  text += bindings_line("inputs ", entry, entry.inputs);
  size_t indent = 0;  // two columns per loop
  for (size_t i = 0; i < entry.steps.size(); ++i) {
    const Step& step = entry.steps[i];
    if (step.kind() == StepKind::kRepeat) indent -= 2;
    text += fmt::format("  {:>{}} {:{}}{}\n", i, std::to_string(entry.steps.size()).size(), "", indent,
                        step_line(entry, step, counts[i], program.mesh())) +
            member_lines(entry, step, program.mesh(), indent);
    if (step.kind() == StepKind::kLoop) indent += 2;
  }
  text += bindings_line("outputs", entry, entry.outputs);
  return text;
}

std::string buffers_text(const EntryPoint& entry) {
  std::string text;
  for (size_t b = 0; b < entry.buffers.size(); ++b) {
    const Buffer& buffer = entry.buffers[b];
    std::string values;
    for (const Value& value : entry.values)
      if (value.buffer == BufferId(b)) values += (values.empty() ? "" : ", ") + printable(value.name);
    text += fmt::format("  buffer {}: {} bytes at {}, {}, steps {} to {}{}{}\n", b, grouped(buffer.bytes),
                        grouped(buffer.offset), to_string(buffer.kind), buffer.first_step, buffer.last_step,
                        values.empty() ? "" : ": ", values);
  }
  return text;
}

std::string program_text(const Program& program) {
  const Mesh& mesh = program.mesh();
  std::string text = fmt::format("program {}\n", printable(program.model));
  text += fmt::format("mesh    {}\n", mesh.axes().empty() ? "one device" : to_string(mesh));
  text += fmt::format("layout  {}\n", printable(described(program.layout)));
  text += fmt::format("arena   {} bytes per device\n", grouped(program.arena_bytes()));
  if (!program.variables.empty()) text += "\nvariables\n";
  for (const ProgramVariable& variable : program.variables) text += variable_line(variable, program.layout);
  for (const EntryPoint& entry : program.entry_points) text += entry_text(program, entry);
  return text;
}

}  // namespace mtfc
