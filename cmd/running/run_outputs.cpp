#include "cmd/running/run_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cmd/running/input_data.h"
#include "core/diagnostics/error.h"
#include "formats/data/npy.h"
#include "runtime/data/array_file.h"

namespace mtfc {
namespace {

double number_at(const LocalShard& shard) {
  const auto read = [&](auto zero) {
    std::memcpy(&zero, shard.data, sizeof zero);
    return static_cast<double>(zero);
  };
  switch (shard.type.dtype) {
    case DType::kF32:
      return read(float{});
    case DType::kF64:
      return read(double{});
    case DType::kI32:
      return read(int32_t{});
    case DType::kI64:
      return read(int64_t{});
    case DType::kBool:
      return read(uint8_t{});
  }
  return 0;
}

// A tensor as the devices of this process hold it.
struct DistributedTensor {
  TensorType type;
  Sharding sharding;
  std::vector<LocalShard> shards;
};

DistributedTensor tensor_named(const std::string& name, const Executor& executor, const EntryPoint& entry) {
  const std::vector<ProgramVariable>& variables = executor.program().variables;
  for (size_t v = 0; v < variables.size(); ++v) {
    if (variables[v].decl.name != name) continue;
    DistributedTensor found{variables[v].decl.type, variables[v].sharding, {}};
    for (size_t device = 0; device < executor.devices(); ++device)
      found.shards.push_back(executor.variable(v, device));
    return found;
  }
  for (const Binding& output : entry.outputs) {
    if (output.name != name) continue;
    const Value& value = entry.values[output.value];
    DistributedTensor found{value.type, value.sharding, {}};
    for (size_t device = 0; device < executor.devices(); ++device)
      found.shards.push_back(executor.shard(entry, output.value, device));
    return found;
  }
  throw InternalError("an output was not compiled in");
}

}  // namespace

std::vector<NamedNumber> output_numbers(const Executor& executor, const EntryPoint& entry) {
  std::vector<NamedNumber> found;
  for (const Binding& output : entry.outputs) {
    const LocalShard shard = executor.shard(entry, output.value, 0);
    if (shard.type.dims.empty()) found.emplace_back(output.name, number_at(shard));
  }
  return found;
}

void write_outputs(Executor& executor, const EntryPoint& entry, const std::vector<std::string>& outputs) {
  for (const std::string& text : outputs) {
    const auto [name, path] = split_assignment(text, "--output");
    const DistributedTensor tensor = tensor_named(name, executor, entry);
    write_array(executor.comm(), path, npy_header(tensor.type), tensor.sharding, tensor.shards);
  }
}

void require_variables(const Program& program, const std::vector<std::string>& outputs) {
  for (const std::string& text : outputs) {
    const std::string name = split_assignment(text, "--output").first;
    if (std::none_of(program.variables.begin(), program.variables.end(),
                     [&](const ProgramVariable& variable) { return variable.decl.name == name; }))
      throw RunError(fmt::format(
          "no step is left that computes '{}' for --output (--evaluate or a larger --steps computes it)",
          name));
  }
}

}  // namespace mtfc
