#include "core/program/program_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/op_rules/random_rules.h"
#include "core/program/buffer_check.h"
#include "core/program/step_check.h"
#include "core/tensors/relayout.h"

namespace mtfc {
namespace {

// Thrown within this file and by check_step.
[[noreturn]] void fail(const std::string& pointer, const std::string& message) {
  throw ProgramFault{pointer, message};
}

class ProgramCheck {
 public:
  explicit ProgramCheck(const Program& program) : program_(program), mesh_(program.mesh()) {}

  void run() {
    variables_end_ = check_variables(program_.variables, 0, "/variables");
    std::set<std::string> names;
    for (size_t e = 0; e < program_.entry_points.size(); ++e) {
      const EntryPoint& entry = program_.entry_points[e];
      at_ = fmt::format("/entry_points/{}", e);
      if (entry.name != "init" && entry.name != "train" && entry.name != "evaluate" && entry.name != "decode")
        fail(at_, fmt::format("an entry point is init, train, evaluate or decode, not '{}'", entry.name));
      if (!names.insert(entry.name).second)
        fail(at_, fmt::format("the entry point '{}' stands twice", entry.name));
      check_entry(entry);
    }
    if (!program_.find("evaluate")) fail("/entry_points", "there is no entry point 'evaluate'");
  }

 private:
  void check_dims(const Dims& dims, const std::string& pointer) {
    std::set<std::string> seen;
    for (const Dim& dim : dims) {
      if (!seen.insert(dim.name).second)
        fail(pointer, fmt::format("the dimension '{}' stands twice", dim.name));
      check_size(dim, pointer);
    }
  }

  void check_size(const Dim& dim, const std::string& pointer) {
    if (dim.size < 1) fail(pointer, fmt::format("the dimension '{}' has the size {}", dim.name, dim.size));
  }

  void check_tensor(const TensorType& type, const Sharding& sharding, const std::string& pointer) {
    check_dims(type.dims, pointer);
    double size = static_cast<double>(size_of(type.dtype));
    for (const Dim& dim : type.dims) size *= static_cast<double>(dim.size);
    if (size > 0x1p60) fail(pointer, "the tensor is too large");
    if (sharding.dims.size() != type.dims.size())
      fail(pointer, fmt::format("the sharding is of {} dimensions, the tensor has {}", sharding.dims.size(),
                                type.dims.size()));
    if (uses_axis_twice(sharding)) fail(pointer, "the sharding uses an axis twice");
    for (const Partial& partial : sharding.partial)
      for (const AxisList& axes : sharding.dims)
        if (std::find(axes.begin(), axes.end(), partial.axis) != axes.end())
          fail(pointer, "the sharding uses an axis twice");
  }

  int64_t bytes_of(const TensorType& type, const Sharding& sharding) const {
    return elements(largest_dims(type.dims, sharding, mesh_)) * size_of(type.dtype);
  }

  void check_variable(const ProgramVariable& variable, const std::string& pointer) {
    check_tensor(variable.decl.type, variable.sharding, pointer);
    if (!variable.sharding.partial.empty()) fail(pointer, "a variable is whole, not partial");
    if (variable.bytes != bytes_of(variable.decl.type, variable.sharding))
      fail(pointer, fmt::format("'bytes' is {}, but the largest shard takes {}", variable.bytes,
                                bytes_of(variable.decl.type, variable.sharding)));
    if (variable.offset < 0 || variable.offset % kAlignment != 0)
      fail(pointer, fmt::format("'offset' is {}, which is no multiple of {}", variable.offset, kAlignment));
  }

  // Each for itself, and that they lie apart, from `begin` on; the end of the last one.
  int64_t check_variables(const std::vector<ProgramVariable>& variables, int64_t begin,
                          const std::string& pointer) {
    std::vector<std::pair<int64_t, size_t>> order;
    for (size_t v = 0; v < variables.size(); ++v) {
      check_variable(variables[v], fmt::format("{}/{}", pointer, v));
      order.emplace_back(variables[v].offset, v);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [offset, v] : order) {
      const ProgramVariable& variable = variables[v];
      if (offset < begin)
        fail(fmt::format("{}/{}", pointer, v),
             fmt::format("'{}' overlaps another variable", variable.decl.name));
      if (variable.bytes > INT64_MAX / 4 || offset > INT64_MAX / 4)
        fail(fmt::format("{}/{}", pointer, v), "the offset is too large");
      begin = offset + variable.bytes;
    }
    return begin;
  }

  void check_entry(const EntryPoint& entry) {
    if (!entry.caches.empty() && entry.name != "decode") fail(at_, "only 'decode' has caches");
    caches_end_ = check_variables(entry.caches, variables_end_, at_ + "/caches");
    for (size_t b = 0; b < entry.buffers.size(); ++b) check_buffer(entry, b);
    for (size_t v = 0; v < entry.values.size(); ++v) check_value(entry, v);
    for (size_t s = 0; s < entry.steps.size(); ++s) check_references(entry, s);
    check_bindings(entry, entry.inputs, "inputs");
    check_bindings(entry, entry.outputs, "outputs");
    check_pairs(entry);
    check_loops(entry);
    for (size_t s = 0; s < entry.steps.size(); ++s) {
      const std::string pointer = fmt::format("{}/steps/{}", at_, s);
      std::map<std::string, int64_t> sizes;
      check_sizes(entry, entry.steps[s], pointer, sizes);
      if (const std::string problem = step_problem(entry, entry.steps[s], mesh_); !problem.empty())
        fail(pointer, problem);
    }
    if (const std::optional<BufferFault> fault = find_buffer_fault(mesh_, entry))
      fail(fault->step < 0 ? at_ : fmt::format("{}/steps/{}", at_, fault->step), fault->message);
  }

  // A dimension has one size wherever it stands in an operation: kernels and exchanges count on it.
  void check_sizes(const EntryPoint& entry, const Step& step, const std::string& pointer,
                   std::map<std::string, int64_t>& sizes) {
    const auto check = [&](const Dim& dim) {
      check_size(dim, pointer);
      const int64_t known = sizes.emplace(dim.name, dim.size).first->second;
      if (known != dim.size)
        fail(pointer, fmt::format("the dimension '{}' has {} elements and {}", dim.name, known, dim.size));
    };
    for (const Step& part : step.parts) check_sizes(entry, part, pointer, sizes);
    if (!step.op) return;
    for (const std::vector<ValueId>* values : {&step.inputs, &step.outputs})
      for (const ValueId id : *values)
        for (const Dim& dim : entry.values[static_cast<size_t>(id)].type.dims) check(dim);
    for (const auto& [name, value] : step.attributes.entries()) {
      if (name == kRandomInterleaved.name) continue;  // of the tensor that this is a part of
      if (const Dim* dim = std::get_if<Dim>(&value)) check(*dim);
      if (const Dims* dims = std::get_if<Dims>(&value))
        for (const Dim& dim : *dims) check(dim);
      if (const auto* map = std::get_if<std::vector<Renaming>>(&value))
        for (const Renaming& renaming : *map) check(renaming.to);
    }
  }

  void check_buffer(const EntryPoint& entry, size_t b) {
    const Buffer& buffer = entry.buffers[b];
    const std::string pointer = fmt::format("{}/buffers/{}", at_, b);
    const int64_t end = std::max(entry.arena_bytes, caches_end_);
    if (buffer.bytes < 0 || buffer.offset < 0 || buffer.bytes > end || buffer.offset > end - buffer.bytes)
      fail(pointer, "the buffer does not lie within the arena");
    if (buffer.offset % kAlignment != 0)
      fail(pointer, fmt::format("'offset' is {}, which is no multiple of {}", buffer.offset, kAlignment));
    if (buffer.kind == BufferKind::kVariable) {
      const auto lies_there = [&](const ProgramVariable& variable) {
        return variable.offset == buffer.offset && variable.bytes == buffer.bytes;
      };
      if (std::none_of(program_.variables.begin(), program_.variables.end(), lies_there) &&
          std::none_of(entry.caches.begin(), entry.caches.end(), lies_there))
        fail(pointer, "the buffer is of a variable, but no variable lies there");
    } else if (buffer.offset < caches_end_ && buffer.bytes > 0) {
      fail(pointer, "the buffer lies in the part of the arena that belongs to variables");
    }
    const auto steps = static_cast<int>(entry.steps.size());
    if (buffer.first_step < 0 || buffer.last_step < -1 || buffer.first_step > std::max(steps, 1) ||
        buffer.last_step >= std::max(steps, 1))
      fail(pointer, "the buffer is alive at steps that do not exist");
  }

  void check_value(const EntryPoint& entry, size_t v) {
    const Value& value = entry.values[v];
    const std::string pointer = fmt::format("{}/values/{}", at_, v);
    check_tensor(value.type, value.sharding, pointer);
    if (value.buffer < kNoBuffer || value.buffer >= static_cast<int>(entry.buffers.size()))
      fail(pointer, fmt::format("there is no buffer {}", value.buffer));
    const int64_t bytes = bytes_of(value.type, value.sharding);
    if (value.buffer != kNoBuffer && entry.buffers[static_cast<size_t>(value.buffer)].bytes < bytes)
      fail(pointer, fmt::format("the value takes {} bytes, its buffer has {}", bytes,
                                entry.buffers[static_cast<size_t>(value.buffer)].bytes));
    if (value.alias_of < 0) return;
    if (value.alias_of >= static_cast<int>(v)) fail(pointer, "'alias_of' must name an earlier value");
    const Value& other = entry.values[static_cast<size_t>(value.alias_of)];
    Sharding carried;
    if (value.buffer != other.buffer || value.type.dtype != other.type.dtype ||
        elements(value.type.dims) != elements(other.type.dims) ||
        !carries(other.type.dims, other.sharding, value.type.dims, mesh_, carried) ||
        carried != value.sharding)
      fail(pointer, fmt::format("the value does not hold the elements of '{}' on every device", other.name));
  }

  // Every value that a step names exists and has a buffer.
  void check_references(const EntryPoint& entry, size_t s) {
    const Step& step = entry.steps[s];
    const std::string pointer = fmt::format("{}/steps/{}", at_, s);
    check_values(entry, step, pointer);
    for (const std::vector<ValueId>* values : {&step.inputs, &step.outputs})
      for (const ValueId id : *values)
        if (entry.values[static_cast<size_t>(id)].buffer == kNoBuffer)
          fail(pointer, fmt::format("'{}' has no buffer", entry.values[static_cast<size_t>(id)].name));
    if (step.kind != StepKind::kFused && !step.parts.empty()) fail(pointer, "only a fused step has parts");
    // What lives within a fused step only needs no buffer.
    for (size_t p = 0; p < step.parts.size(); ++p)
      check_values(entry, step.parts[p], fmt::format("{}/parts/{}", pointer, p));
  }

  // Every value that is named exists, and so does the workspace.
  void check_values(const EntryPoint& entry, const Step& step, const std::string& pointer) {
    for (const std::vector<ValueId>* values : {&step.inputs, &step.outputs})
      for (const ValueId id : *values)
        if (id < 0 || id >= static_cast<int>(entry.values.size()))
          fail(pointer, fmt::format("there is no value {}", id));
    for (const ValueId id : step.outputs)
      if (entry.values[static_cast<size_t>(id)].alias_of >= 0)
        fail(pointer, fmt::format("'{}' is another value under other dimensions, which no step makes",
                                  entry.values[static_cast<size_t>(id)].name));
    if (step.workspace < kNoBuffer || step.workspace >= static_cast<int>(entry.buffers.size()))
      fail(pointer, fmt::format("there is no buffer {}", step.workspace));
  }

  void check_bindings(const EntryPoint& entry, const std::vector<Binding>& bindings, const char* key) {
    std::set<std::string> names;
    for (size_t i = 0; i < bindings.size(); ++i) {
      const std::string pointer = fmt::format("{}/{}/{}", at_, key, i);
      const Binding& binding = bindings[i];
      if (binding.value < 0 || binding.value >= static_cast<int>(entry.values.size()))
        fail(pointer, fmt::format("there is no value {}", binding.value));
      const Value& value = entry.values[static_cast<size_t>(binding.value)];
      if (!names.insert(binding.name).second) fail(pointer, fmt::format("'{}' stands twice", binding.name));
      if (value.buffer == kNoBuffer) fail(pointer, fmt::format("'{}' has no buffer", value.name));
      if (!value.sharding.partial.empty()) fail(pointer, fmt::format("'{}' is partial", value.name));
      if (&bindings != &entry.inputs) continue;
      if (entry.name == "decode") {
        check_decode_input(binding.name, value, pointer);
        continue;
      }
      const auto input = std::find_if(program_.inputs.begin(), program_.inputs.end(),
                                      [&](const InputDecl& decl) { return decl.name == binding.name; });
      if (input == program_.inputs.end()) fail(pointer, fmt::format("there is no input '{}'", binding.name));
      if (input->type != value.type)
        fail(pointer,
             fmt::format("the input is {}, the value {}", to_string(input->type), to_string(value.type)));
    }
  }

  void check_decode_input(const std::string& name, const Value& value, const std::string& pointer) {
    const bool flags = name == kSeenInput;
    if (!flags && name != kTokenInput && name != kPositionInput)
      fail(pointer, fmt::format("'decode' has no input '{}'", name));
    const DType dtype = value.type.dtype;
    if (flags ? dtype != DType::kBool : !is_integer(dtype))
      fail(pointer, fmt::format("'{}' can't be {}", name, to_string(value.type)));
    if (name == kPositionInput && !value.type.dims.empty())
      fail(pointer, fmt::format("'{}' is not a single number", name));
  }

  // Every start has its wait further down, with the same values.
  void check_pairs(const EntryPoint& entry) {
    std::set<int> waited;
    for (size_t s = 0; s < entry.steps.size(); ++s) {
      const Step& step = entry.steps[s];
      if (step.kind != StepKind::kWait) continue;
      const std::string pointer = fmt::format("{}/steps/{}", at_, s);
      if (step.started < 0 || step.started >= static_cast<int>(s) ||
          entry.steps[static_cast<size_t>(step.started)].kind != StepKind::kStart)
        fail(pointer, fmt::format("step {} starts no collective before this one", step.started));
      if (!waited.insert(step.started).second)
        fail(pointer, fmt::format("the collective of step {} is awaited twice", step.started));
      const Step& start = entry.steps[static_cast<size_t>(step.started)];
      if (step.inputs != start.inputs || step.outputs != start.outputs || step.workspace != start.workspace)
        fail(pointer,
             fmt::format("the values are not those of step {}, which starts the collective", step.started));
    }
    for (size_t s = 0; s < entry.steps.size(); ++s)
      if (entry.steps[s].kind == StepKind::kStart && waited.count(static_cast<int>(s)) == 0)
        fail(fmt::format("{}/steps/{}", at_, s), "the collective is never awaited");
  }

  // Loops lie within each other or apart, and a collective starts and ends in the same round.
  void check_loops(const EntryPoint& entry) {
    std::vector<int> open;
    std::vector<int> around;  // per step: the innermost loop
    for (size_t s = 0; s < entry.steps.size(); ++s) {
      const Step& step = entry.steps[s];
      const std::string pointer = fmt::format("{}/steps/{}", at_, s);
      around.push_back(open.empty() ? -1 : open.back());
      if (step.kind == StepKind::kWait && around[static_cast<size_t>(step.started)] != around[s])
        fail(pointer, "the collective was started outside of the loop in which it is awaited");
      if (!is_control(step.kind)) continue;
      if (step.kind == StepKind::kLoop) {
        open.push_back(static_cast<int>(s));
        const bool ends =
            step.partner > static_cast<int>(s) && step.partner < static_cast<int>(entry.steps.size());
        if (!ends || entry.steps[static_cast<size_t>(step.partner)].kind != StepKind::kRepeat)
          fail(pointer, fmt::format("step {} does not end the loop", step.partner));
        continue;
      }
      if (open.empty()) fail(pointer, "there is no loop around this step");
      const int end = entry.steps[static_cast<size_t>(open.back())].partner;
      const bool is_end = step.kind == StepKind::kRepeat;
      if (step.partner != (is_end ? open.back() : end) || is_end != (end == static_cast<int>(s)))
        fail(pointer, fmt::format("step {} is not the other end of the loop", step.partner));
      if (is_end) open.pop_back();
    }
    if (!open.empty()) fail(fmt::format("{}/steps/{}", at_, open.back()), "the loop does not end");
    check_ends(entry);
  }

  // A loop without a condition would never end.
  void check_ends(const EntryPoint& entry) {
    std::set<int> left;
    for (const Step& step : entry.steps)
      if (step.kind == StepKind::kLeave) left.insert(step.partner);
    for (size_t s = 0; s < entry.steps.size(); ++s)
      if (entry.steps[s].kind == StepKind::kLoop &&
          (entry.steps[s].times > 0) == (left.count(entry.steps[s].partner) > 0))
        fail(fmt::format("{}/steps/{}", at_, s), "a loop has either 'times' or a condition");
  }

  const Program& program_;
  const Mesh& mesh_;
  std::string at_;  // the entry point
  int64_t variables_end_ = 0, caches_end_ = 0;
};

}  // namespace

std::optional<ProgramFault> find_program_fault(const Program& program) {
  try {
    ProgramCheck(program).run();
  } catch (const ProgramFault& fault) {
    return fault;
  }
  return std::nullopt;
}

}  // namespace mtfc
