#include "cmd/running/run_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "cmd/running/input_data.h"
#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"
#include "core/tensors/relayout.h"
#include "formats/data/npy.h"
#include "runtime/data/array_file.h"
#include "runtime/memory/dtypes.h"

namespace mtfc {
namespace {

RunNumber number_at(const LocalShard& shard) {
  return dispatch(AllTypes{}, shard.type.dtype, [&]<typename T>() -> RunNumber {
    T number{};
    std::memcpy(&number, shard.data, sizeof number);
    if constexpr (std::is_same_v<T, bool>)
      return number;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<int64_t>(number);
    else
      return static_cast<double>(number);
  });
}

void write_tensor(Comm& comm, const std::string& path, const DistributedTensor& tensor) {
  write_array(comm, path, npy_header(tensor.type), tensor.sharding, tensor.shards);
}

// Writes a float scalar of this value. A bf16 scalar is written as f32, since a mean over batches has more digits.
void write_number(Comm& comm, const std::string& path, DistributedTensor tensor, double number) {
  const auto number32 = static_cast<float>(number);
  std::byte bytes[sizeof number];
  if (tensor.type.dtype == DType::kBF16) tensor.type.dtype = DType::kF32;
  for (LocalShard& shard : tensor.shards) shard.type.dtype = tensor.type.dtype;
  if (tensor.type.dtype == DType::kF64)
    std::memcpy(bytes, &number, sizeof number);
  else
    std::memcpy(bytes, &number32, sizeof number32);
  for (LocalShard& shard : tensor.shards) shard.data = bytes;
  write_tensor(comm, path, tensor);
}

int64_t rows_of(const Feed& feed, int64_t batches) {
  return (batches - 1) * feed.batch() + feed.rows_present(batches - 1);
}

// The elements of a shard that lie in `region`, one after another in `memory`.
LocalShard cut(const LocalShard& shard, const Box& region, std::vector<std::byte>& memory) {
  LocalShard part = shard;
  for (size_t i = 0; i < region.size(); ++i) {
    part.box[i].end = std::min(shard.box[i].end, region[i].end);
    part.box[i].begin = std::min(shard.box[i].begin, part.box[i].end);
  }
  const int64_t size = size_of(shard.type.dtype);
  memory.resize(static_cast<size_t>(part.elements() * size));
  part.data = memory.data();
  const Dims& dims = shard.type.dims;
  for (const Run& run : common_runs(dims, shard.box, dims, part.box))
    for (int64_t i = 0; i < run.length; ++i)
      std::memcpy(part.data + (run.to + i * run.to_step) * size,
                  shard.data + (run.from + i * run.from_step) * size, static_cast<size_t>(size));
  return part;
}

}  // namespace

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

struct EvaluationOutputs::Written {
  std::string name;
  size_t row_dim = 0;  // the position of the dimension that rows lie along
  TensorType type;     // of all rows
  ArrayWriter writer;
};

void EvaluationOutputs::open(const Feed& feed, int64_t batches) {
  const std::string row_dim = feed.row_dim();
  for (const std::string& text : outputs_) {
    const auto [name, path] = split_assignment(text, "--output");
    written_.push_back(nullptr);
    if (find_named(executor_.program().variables, name)) continue;
    TensorType type = tensor_named(name, executor_, entry_).type;
    if (type.dims.empty() && is_float(type.dtype)) continue;
    const auto rows =
        std::find_if(type.dims.begin(), type.dims.end(), [&](const Dim& dim) { return dim.name == row_dim; });
    if (rows == type.dims.end() || rows->size != feed.batch())
      throw AgreedError(fmt::format(
          "--output {}: the evaluation has {} batches, and '{}' of shape [{}] has no dimension '{}' "
          "of {} rows along which they could be put together (--input NAME=FILE,rows=0:{} evaluates "
          "one batch)",
          name, batches, name, to_string(type.dims), row_dim, feed.batch(), feed.batch()));
    const auto position = static_cast<size_t>(rows - type.dims.begin());
    rows->size = rows_of(feed, batches);
    const std::string header = npy_header(type);
    written_.back() = std::shared_ptr<Written>(
        new Written{name, position, type, ArrayWriter(executor_.comm(), path, header, type)});
  }
}

void EvaluationOutputs::add(const Feed& feed, int64_t batch) {
  const int64_t batches = feed.evaluation_batches().value_or(1);
  if (outputs_.empty() || rows_of(feed, batches) == feed.batch()) return;  // a single batch, and a whole one
  if (batch == 0) open(feed, batches);
  for (const std::shared_ptr<Written>& output : written_) {
    if (!output) continue;
    const DistributedTensor tensor = tensor_named(output->name, executor_, entry_);
    Box region = whole_box(output->type.dims);
    const int64_t begin = batch * feed.batch();
    region[output->row_dim] = {begin, begin + feed.rows_present(batch)};
    std::vector<LocalShard> shards;
    std::vector<std::vector<std::byte>> memory(tensor.shards.size());
    for (size_t device = 0; device < tensor.shards.size(); ++device) {
      LocalShard shard = tensor.shards[device];
      shard.type = output->type;
      shard.type.dims[output->row_dim].size = std::max(region[output->row_dim].end, begin + feed.batch());
      shard.box[output->row_dim].begin += begin;
      shard.box[output->row_dim].end += begin;
      if (feed.rows_present(batch) < feed.batch()) shard = cut(shard, region, memory[device]);
      shard.type = output->type;
      shards.push_back(shard);
    }
    output->writer.add(region, tensor.sharding, shards);
  }
}

void EvaluationOutputs::finish(const std::vector<NamedNumber>& means) {
  if (written_.empty()) return write_outputs(executor_, entry_, outputs_);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (written_[i]) {
      written_[i]->writer.finish();
      continue;
    }
    const auto [name, path] = split_assignment(outputs_[i], "--output");
    const DistributedTensor tensor = tensor_named(name, executor_, entry_);
    const auto mean = std::find_if(means.begin(), means.end(), [&, &wanted = name](const NamedNumber& each) {
      return each.first == wanted;
    });
    if (find_named(executor_.program().variables, name) || mean == means.end())
      write_tensor(executor_.comm(), path, tensor);
    else
      write_number(executor_.comm(), path, tensor, to_double(mean->second));
  }
}

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
    write_tensor(executor.comm(), path, tensor_named(name, executor, entry));
  }
}

void require_variables(const Program& program, const std::vector<std::string>& outputs) {
  for (const std::string& text : outputs) {
    const std::string name = split_assignment(text, "--output").first;
    if (!find_named(program.variables, name))
      throw RunError(fmt::format(
          "no step is left that computes '{}' for --output (--evaluate or a larger --steps computes it)",
          name));
  }
}

}  // namespace mtfc
