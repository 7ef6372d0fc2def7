#include "cmd/running/prediction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cmd/running/input_data.h"
#include "core/diagnostics/error.h"
#include "core/model/zero_stage.h"
#include "formats/data/csv_rows.h"
#include "runtime/data/array_file.h"

namespace mtfc {
namespace {

constexpr size_t kMostProposed = 4;  // tensors

// The tensors that people are likely to mean: named in the model itself, with rows, the last ones first.
std::vector<std::string> proposed_tensors(const Model& model, const Dim& rows) {
  std::vector<std::string> names;
  const std::vector<Tensor>& tensors = model.graph.tensors();
  for (size_t i = tensors.size(); i-- > 0 && names.size() < kMostProposed;) {
    const Tensor& tensor = tensors[i];
    const bool is_input = find_named(model.inputs, tensor.name) != nullptr;
    if (tensor.from_model && !is_input && tensor.name.find_first_of("/.") == std::string::npos &&
        position(tensor.type.dims, rows.name) >= 0)
      names.push_back(tensor.name);
  }
  return names;
}

// Returns whether the rows of an input can lie along a dimension of the tensor.
bool has_rows(const EntryPoint& entry, const TensorType& type) {
  return std::any_of(entry.inputs.begin(), entry.inputs.end(), [&](const Binding& input) {
    const Dims& dims = entry.values[input.value].type.dims;
    return !dims.empty() && position(type.dims, dims[0].name) >= 0;
  });
}

// The dimension of a batch that its rows lie along.
std::string row_dim_of(const Feed& feed, const EntryPoint& entry) {
  const std::string dim = feed.row_dim();
  if (!dim.empty()) return dim;
  for (const Binding& input : entry.inputs)
    if (const Dims& dims = entry.values[input.value].type.dims; !dims.empty()) return dims[0].name;
  return "";
}

}  // namespace

bool is_csv(const Prediction& prediction) {
  return prediction.format.empty() ? !prediction.file.ends_with(".npy") : prediction.format == "csv";
}

Model for_prediction(Model model, const Prediction& prediction) {
  if (!prediction.tensors.empty()) {
    model.outputs.clear();
    return model;
  }
  const std::optional<Dim> rows = batch_dim(model);
  if (!rows) throw UserError(fmt::format("the model '{}' has no input with rows", model.name));
  std::erase_if(model.outputs, [&](const NamedTensor& output) {
    return position(model.graph.type(output.tensor).dims, rows->name) < 0;
  });
  if (!model.outputs.empty()) return model;
  const std::vector<std::string> proposed = proposed_tensors(model, *rows);
  throw UserError(fmt::format("no output of the model '{}' has a row for each row of data", model.name),
                  proposed.empty()
                      ? "name a tensor with --output-tensor"
                      : fmt::format("name a tensor with --output-tensor: {}", fmt::join(proposed, ", ")));
}

std::vector<std::string> predicted_tensors(const EntryPoint& entry, const Prediction& prediction) {
  if (!prediction.tensors.empty()) return prediction.tensors;
  std::vector<std::string> names;
  for (const Binding& output : entry.outputs)
    if (has_rows(entry, entry.values[output.value].type)) names.push_back(output.name);
  return names;
}

void require_predictable(const EntryPoint& entry, const Prediction& prediction) {
  const std::vector<std::string> names = predicted_tensors(entry, prediction);
  if (names.empty()) throw UserError("no output of the program has a row for each row of data");
  for (const std::string& name : names) {
    const Binding* output = find_named(entry.outputs, name);
    if (output && has_rows(entry, entry.values[output->value].type)) continue;
    throw UserError(fmt::format(
        "--output-tensor {}: '{}'{} has no row for each row of data", name, name,
        output ? fmt::format(" of shape [{}]", to_string(entry.values[output->value].type.dims)) : ""));
  }
  if (names.size() > 1 && !is_csv(prediction))
    throw UserError(
        fmt::format("a .npy file holds one array, but '{}' are predicted", fmt::join(names, "' and '")),
        "choose one with --output-tensor, or write all of them as .csv");
}

std::string needless_inputs(const EntryPoint& entry, const std::vector<std::string>& given) {
  std::string text;
  for (const std::string& input : given) {
    const std::string name = split_assignment(input, "--input").first;
    if (!find_named(entry.inputs, name))
      text += fmt::format("the prediction does not depend on the input '{}'\n", name);
  }
  return text;
}

PredictionFile::PredictionFile(Executor& executor, const EntryPoint& entry, const Prediction& prediction)
    : executor_(executor),
      entry_(entry),
      path_(prediction.file),
      is_csv_(is_csv(prediction)),
      names_(predicted_tensors(entry, prediction)),
      arrays_(executor, entry, outputs_) {
  if (!is_csv_) outputs_.push_back(names_.front() + "=" + path_);
}

void PredictionFile::add(const Feed& feed, int64_t batch) {
  if (is_csv_)
    add_lines(feed, batch);
  else
    arrays_.add(feed, batch);
}

void PredictionFile::add_lines(const Feed& feed, int64_t batch) {
  Comm& comm = executor_.comm();
  const std::string rows = row_dim_of(feed, entry_);
  std::vector<RowTensor> tensors;
  std::vector<std::vector<std::byte>> memory;
  for (const std::string& name : names_) {
    const DistributedTensor tensor = tensor_named(name, executor_, entry_);
    const int at = position(tensor.type.dims, rows);
    if (at < 0 || tensor.type.dims[static_cast<size_t>(at)].size != feed.batch())
      throw AgreedError(fmt::format("'{}' of shape [{}] has no dimension '{}' of {} rows", name,
                                    to_string(tensor.type.dims), rows, feed.batch()));
    memory.push_back(gathered(comm, tensor.sharding, tensor.shards));
    tensors.push_back({name, tensor.type, static_cast<size_t>(at), memory.back().data()});
  }
  if (!table_) table_ = std::make_unique<AgreedFile>(comm.processes(), path_, csv_header(tensors));
  if (comm.processes().is_root()) {
    const std::string lines = csv_rows(tensors, feed.rows_present(batch));
    table_->append(reinterpret_cast<const std::byte*>(lines.data()), static_cast<int64_t>(lines.size()));
  }
  table_->agree();
}

void PredictionFile::finish() {
  if (table_) table_->finish();
  if (!is_csv_) arrays_.finish({});
}

}  // namespace mtfc
