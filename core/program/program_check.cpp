#include "core/program/program_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "core/diagnostics/suggest.h"
#include "core/model/entry_points.h"
#include "core/program/buffer_check.h"
#include "core/program/structure_check.h"

namespace mtfc {
namespace {

[[noreturn]] void fail(const std::string& pointer, const std::string& message) {
  throw ProgramFault{pointer, message};
}

class ProgramCheck {
 public:
  explicit ProgramCheck(const Program& program) : program_(program), mesh_(program.mesh()) {}

  void run_entry(const EntryPoint& entry) {
    variables_end_ = check_variables(program_.variables, 0, "/variables");
    check_entry(entry);
  }

  void run() {
    variables_end_ = check_variables(program_.variables, 0, "/variables");
    std::set<std::string> names;
    for (size_t e = 0; e < program_.entry_points.size(); ++e) {
      const EntryPoint& entry = program_.entry_points[e];
      at_ = fmt::format("/entry_points/{}", e);
      const std::array<std::string_view, 6> known = {"init",   "train",  "evaluate",
                                                     "decode", "encode", "prompt"};
      if (std::find(known.begin(), known.end(), entry.name) == known.end())
        fail(at_, fmt::format("an entry point is init, train, evaluate, decode, encode or prompt, not '{}'",
                              entry.name));
      if (!names.insert(entry.name).second)
        fail(at_, fmt::format("the entry point '{}' appears twice", entry.name));
      check_entry(entry);
    }
    check_encode();
    if (!program_.find("evaluate")) fail("/entry_points", "there is no entry point 'evaluate'");
  }

 private:
  void check_variable(const ProgramVariable& variable, const std::string& pointer) {
    StructureCheck::check_tensor(variable.decl.type, variable.sharding, pointer);
    if (!variable.sharding.windows.empty()) fail(pointer, "a window splits a variable");
    if (!variable.sharding.partial.empty()) fail(pointer, "a variable is whole, not partial");
    if (variable.bytes != largest_bytes(variable.decl.type, variable.sharding, mesh_))
      fail(pointer, fmt::format("'bytes' is {}, but the largest shard takes {}", variable.bytes,
                                largest_bytes(variable.decl.type, variable.sharding, mesh_)));
    if (variable.offset < 0 || variable.offset % kAlignment != 0)
      fail(pointer,
           fmt::format("'offset' is {}, which is not a multiple of {}", variable.offset, kAlignment));
  }

  // Checks each variable, and that they lie apart from each other, from `begin` on. Returns the end of the
  // last one.
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
    if (!entry.caches.empty() && !is_for_generation(entry.name))
      fail(at_, "only 'decode', 'encode' and 'prompt' have caches");
    caches_end_ = check_variables(entry.caches, variables_end_, at_ + "/caches");
    const StructureCheck structure(entry, mesh_, at_);
    for (size_t b = 0; b < entry.buffers.size(); ++b) check_buffer(entry, b);
    for (size_t v = 0; v < entry.values.size(); ++v) {
      check_value(entry, v);
      structure.check_value(v);
    }
    for (size_t s = 0; s < entry.steps.size(); ++s) {
      structure.check_references(s);
      check_step_buffers(entry, s);
    }
    check_bindings(entry, entry.inputs, "inputs");
    check_bindings(entry, entry.outputs, "outputs");
    structure.check_pairs();
    structure.check_loops();
    structure.check_steps(true);
    if (const std::optional<BufferFault> fault = find_buffer_fault(mesh_, entry))
      fail(fault->step < 0 ? at_ : fmt::format("{}/steps/{}", at_, fault->step), fault->message);
  }

  // What encode computes is copied into the caches of decode of the same names.
  void check_encode() {
    const EntryPoint* encode = program_.find("encode");
    if (!encode) return;
    const EntryPoint* decode = program_.find("decode");
    if (!decode) fail("/entry_points", "there is an entry point 'encode', but no 'decode'");
    for (const ProgramVariable& filled : encode->caches) {
      const auto is_same = [&](const ProgramVariable& cache) {
        return cache.decl.name == filled.decl.name && cache.decl.type == filled.decl.type &&
               cache.sharding == filled.sharding;
      };
      if (std::none_of(decode->caches.begin(), decode->caches.end(), is_same))
        fail("/entry_points",
             fmt::format("'decode' has no cache '{}' like that of 'encode'", filled.decl.name));
    }
  }

  void check_buffer(const EntryPoint& entry, size_t b) {
    const Buffer& buffer = entry.buffers[b];
    const std::string pointer = fmt::format("{}/buffers/{}", at_, b);
    const int64_t end = std::max(entry.arena_bytes, caches_end_);
    if (buffer.bytes < 0 || buffer.offset < 0 || buffer.bytes > end || buffer.offset > end - buffer.bytes)
      fail(pointer, "the buffer does not lie within the arena");
    if (buffer.offset % kAlignment != 0)
      fail(pointer, fmt::format("'offset' is {}, which is not a multiple of {}", buffer.offset, kAlignment));
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
    if (buffer.first_step < 0 || buffer.last_step < -1 || buffer.first_step >= std::max(steps, 1) ||
        buffer.last_step >= std::max(steps, 1))
      fail(pointer, "the buffer is alive at steps that do not exist");
  }

  void check_value(const EntryPoint& entry, size_t v) {
    const Value& value = entry.values[v];
    const std::string pointer = fmt::format("{}/values/{}", at_, v);
    StructureCheck::check_tensor(value.type, value.sharding, pointer);
    if (value.buffer != kNoBuffer && !entry.buffers.has(value.buffer))
      fail(pointer, fmt::format("there is no buffer {}", value.buffer.number()));
    const int64_t bytes = largest_bytes(value.type, value.sharding, mesh_);
    if (value.buffer != kNoBuffer && entry.buffers[value.buffer].bytes < bytes)
      fail(pointer, fmt::format("the value takes {} bytes, but its buffer has {}", bytes,
                                entry.buffers[value.buffer].bytes));
  }

  // Values that a step reads or makes have a buffer. Values that live only within a fused step need none.
  void check_step_buffers(const EntryPoint& entry, size_t s) {
    const Step& step = entry.steps[s];
    for (const std::vector<ValueId>* values : {&step.inputs, &step.outputs})
      for (const ValueId id : *values)
        if (entry.values[id].buffer == kNoBuffer)
          fail(fmt::format("{}/steps/{}", at_, s), fmt::format("'{}' has no buffer", entry.values[id].name));
  }

  void check_bindings(const EntryPoint& entry, const std::vector<Binding>& bindings, const char* key) {
    std::set<std::string> names;
    for (size_t i = 0; i < bindings.size(); ++i) {
      const std::string pointer = fmt::format("{}/{}/{}", at_, key, i);
      const Binding& binding = bindings[i];
      if (!entry.values.has(binding.value))
        fail(pointer, fmt::format("there is no value {}", binding.value.number()));
      const Value& value = entry.values[binding.value];
      if (!names.insert(binding.name).second) fail(pointer, fmt::format("'{}' appears twice", binding.name));
      if (value.buffer == kNoBuffer) fail(pointer, fmt::format("'{}' has no buffer", value.name));
      if (!value.sharding.partial.empty()) fail(pointer, fmt::format("'{}' is partial", value.name));
      if (&bindings != &entry.inputs) continue;
      if (entry.name == "decode") {
        check_decode_input(binding.name, value, pointer);
        continue;
      }
      const InputDecl* input = find_named(program_.inputs, binding.name);
      if (!input) fail(pointer, fmt::format("there is no input '{}'", binding.name));
      if (input->type != value.type)
        fail(pointer, fmt::format("the input is {}, but its value is {}", to_string(input->type),
                                  to_string(value.type)));
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

  const Program& program_;
  const Mesh& mesh_;
  std::string at_;  // the entry point
  int64_t variables_end_ = 0, caches_end_ = 0;
};

}  // namespace

std::optional<ProgramFault> find_program_fault(const Program& program) {
  return fault_of([&] { ProgramCheck(program).run(); });
}

std::optional<ProgramFault> find_entry_fault(const Program& program, const EntryPoint& entry) {
  return fault_of([&] { ProgramCheck(program).run_entry(entry); });
}

}  // namespace mtfc
