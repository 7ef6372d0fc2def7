#include <fmt/format.h>

#include <map>

#include "core/cost/cost.h"
#include "core/diagnostics/enum_names.h"
#include "core/diagnostics/printable.h"
#include "formats/program/program_writer.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char letter : printable(text)) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += letter;
  }
  return result + "\"";
}

// Two lines of a label; the line break is the only escape that Graphviz may see.
std::string label(const std::string& first, const std::string& second) {
  const std::string above = quoted(first), below = quoted(second);
  return above.substr(0, above.size() - 1) + "\\n" + below.substr(1);
}

constexpr EnumName<Phase> kColours[] = {
    {Phase::kForward, "#dbeafe"}, {Phase::kBackward, "#ede9fe"}, {Phase::kUpdate, "#dcfce7"}};

// Draws one entry point. A collective is one node, at its start: its wait only constrains the order.
class EntryDrawing {
 public:
  EntryDrawing(const Program& program, const EntryPoint& entry)
      : program_(program), entry_(entry), counts_(predicted_counts(program, entry)) {}

  std::string text() {
    text_ =
        fmt::format("  subgraph {} {{\n    label={};\n", quoted("cluster_" + entry_.name),
                    quoted(fmt::format("{}, {} per device", entry_.name, bytes_text(entry_.arena_bytes))));
    for (const Binding& input : entry_.inputs) source(input.value, "input " + input.name);
    for (size_t s = 0; s < entry_.steps.size(); ++s) step(s);
    for (const Binding& output : entry_.outputs) {
      const std::string name = id("output_" + output.name);
      text_ += fmt::format("    {} [shape=ellipse, style=filled, fillcolor=\"#fef9c3\", label={}];\n", name,
                           quoted(output.name));
      edge(output.value, name);
    }
    return text_ + "  }\n";
  }

 private:
  std::string id(const std::string& name) const { return quoted(entry_.name + "/" + name); }
  const Value& value(ValueId id) const { return entry_.values[id]; }
  const Buffer* buffer(ValueId id) const {
    const BufferId buffer = value(root_of(entry_, id)).buffer;
    return buffer == kNoBuffer ? nullptr : &entry_.buffers[buffer];
  }

  // Returns the node of a value that no step has made: an input, a variable, or the initial value of a loop.
  std::string source(ValueId id_of, const std::string& name) {
    const ValueId root = root_of(entry_, id_of);
    const auto known = makers_.find(root);
    if (known != makers_.end()) return known->second;
    const std::string node = id(fmt::format("value_{}", root.number()));
    text_ += fmt::format("    {} [shape=cylinder, style=filled, fillcolor=\"#f1f5f9\", label={}];\n", node,
                         label(name, local_shape(value(root), program_.mesh())));
    makers_[root] = node;
    return node;
  }

  void edge(ValueId from, const std::string& to) {
    const std::string node = source(from, value(root_of(entry_, from)).name);
    text_ += fmt::format("    {} -> {} [label={}];\n", node, to,
                         quoted(local_shape(value(from), program_.mesh())));
  }

  void step(size_t s) {
    const Step& step = entry_.steps[s];
    if (const auto* loop = step.as<BeginLoop>()) {
      const std::string rounds = loop->times > 0 ? fmt::format("{} times", loop->times) : "while it holds";
      text_ += fmt::format("    subgraph {} {{\n    label={}; style=dashed;\n",
                           quoted(fmt::format("cluster_{}_{}", entry_.name, s)), quoted(rounds));
      return;
    }
    if (step.kind() == StepKind::kRepeat) {
      text_ += "    }\n";
      return;
    }
    const auto* wait = step.as<AwaitCollective>();
    const std::string node = id(fmt::format("step_{}", wait ? wait->start.index() : s));
    if (!wait) {
      text_ += fmt::format("    {} [{}];\n", node, look(step, counts_[s]));
      for (const ValueId input : step.inputs) edge(input, node);
    }
    for (const ValueId output : step.outputs) made(output, node);
  }

  // A variable's new value is its location in memory, which the step reads under its old value.
  void made(ValueId output, const std::string& node) {
    makers_[root_of(entry_, output)] = node;
    const Buffer* place = buffer(output);
    if (!place || place->kind != BufferKind::kVariable) return;
    for (const ProgramVariable& variable : program_.variables)
      if (variable.offset == place->offset && variable.bytes > 0) {
        const std::string target = id("assigned_" + variable.decl.name);
        if (!assigned_[variable.decl.name])
          text_ += fmt::format("    {} [shape=cylinder, style=filled, fillcolor=\"#f1f5f9\", label={}];\n",
                               target, quoted("new " + variable.decl.name));
        if (!assigned_[variable.decl.name]) text_ += fmt::format("    {} -> {};\n", node, target);
        assigned_[variable.decl.name] = true;
      }
  }

  std::string look(const Step& step, const StepCount& count) const {
    if (step.kind() == StepKind::kStart)
      return fmt::format("shape=box, style=\"filled,bold\", fillcolor=\"#fed7aa\", label={}",
                         label(kind_of(step) + " over " + program_.mesh().names(step.collective().axes),
                               fmt::format("{}, {} sent", step.name, bytes_text(count.bytes_sent))));
    std::string kind = kind_of(step);
    for (size_t i = 0; i < step.members().size(); ++i)
      kind += (i == 0 ? ": " : ", ") + kind_of(step.members()[i]);
    std::string work = count.flops > 0 ? ", " + count_text(count.flops, "FLOP") : "";
    if (const auto* ring = step.as<RunRing>()) {
      kind += " over " + program_.mesh().names(ring->axes);
      work += ", " + bytes_text(count.bytes_sent) + " sent";
    }
    return fmt::format("shape=box, style=filled, fillcolor=\"{}\", label={}", name_in(kColours, step.phase),
                       label(kind, step.name + work));
  }

  const Program& program_;
  const EntryPoint& entry_;
  std::vector<StepCount> counts_;
  std::string text_;
  std::map<ValueId, std::string> makers_;  // by root
  std::map<std::string, bool> assigned_;
};

}  // namespace

std::string program_dot(const Program& program) {
  const std::string mesh = program.mesh().axes().empty() ? "one device" : to_string(program.mesh());
  const std::string rules = described(program.layout);
  std::string text = fmt::format("digraph {} {{\n  label={};\n", quoted(program.model),
                                 label(program.model, mesh + "  " + rules));
  text += "  node [fontname=\"Helvetica\", fontsize=10];\n  edge [fontname=\"Helvetica\", fontsize=8];\n";
  for (const EntryPoint& entry : program.entry_points) text += EntryDrawing(program, entry).text();
  return text + "}\n";
}

}  // namespace mtfc
