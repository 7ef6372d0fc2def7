#include "cmd/published/placed_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/diagnostics/error.h"
#include "runtime/data/array_file.h"
#include "runtime/data/stored_values.h"

namespace mtfc {
namespace {

const TensorType* type_of(const VariableTypes& types, const std::string& variable) {
  const auto found = types.find(variable);
  return found == types.end() ? nullptr : &found->second;
}

[[noreturn]] void fail_twice(const StoredArray& first, const StoredArray& second,
                             const std::string& variable) {
  throw RunError(fmt::format("{} and {} would both be '{}' of the model", first.file, second.file, variable));
}

void add_whole(FoundTensor tensor, const std::string& variable, FoundTensors& found) {
  const StoredArray array = tensor.array;
  const auto [at, is_new] = found.emplace(variable, std::move(tensor));
  if (!is_new) fail_twice(at->second.array, array, variable);
}

// The elements of `whole` from `first` on as an array of the shape.
StoredArray cut_out(const StoredArray& whole, int64_t first, std::vector<int64_t> shape) {
  StoredArray array = whole;
  array.checksum.reset();
  array.shape = std::move(shape);
  if (!whole.parts) {
    array.data += first * size_of(whole.type);
    if (whole.scales) {
      BlockScales scales = *whole.scales;
      scales.first += first;
      array.scales = std::make_shared<const BlockScales>(std::move(scales));
    }
    return array;
  }
  const int64_t end = first + element_count(array.shape);
  std::vector<ArrayPart> parts;
  for (const ArrayPart& part : *whole.parts) {
    const int64_t from = std::max(first, part.begin),
                  to = std::min(end, part.begin + element_count(part.array.shape));
    if (from < to) parts.push_back({cut_out(part.array, from - part.begin, {to - from}), from - first});
  }
  array.parts = std::make_shared<const std::vector<ArrayPart>>(std::move(parts));
  return array;
}

// The same as a part that begins at `begin` in a variable.
ArrayPart part_of(const StoredArray& whole, int64_t first, std::vector<int64_t> shape, int64_t begin) {
  return {cut_out(whole, first, std::move(shape)), begin};
}

void add_part(ArrayPart part, const std::string& variable, const Dims& dims, FoundTensors& found) {
  const auto [at, is_new] = found.try_emplace(variable);
  StoredArray& whole = at->second.array;
  if (is_new) {
    whole.file = part.array.file;
    whole.type = part.array.type;
    whole.shape = shape_of(dims);
  }
  std::vector<ArrayPart>& parts = at->second.parts;
  const auto place =
      std::lower_bound(parts.begin(), parts.end(), part.begin,
                       [](const ArrayPart& other, int64_t begin) { return other.begin < begin; });
  if (!is_new && (parts.empty() || (place != parts.end() && place->begin == part.begin)))
    fail_twice(parts.empty() ? whole : place->array, part.array, variable);
  parts.insert(place, std::move(part));
}

void add_indexed(const FoundTensor& tensor, const Placement& placement, const TensorType& type,
                 FoundTensors& found) {
  const std::string& variable = placement.variables.front();
  const StoredArray& array = tensor.array;
  if (type.dims.empty() || *placement.index >= type.dims.front().size)
    throw RunError(fmt::format("{} would be element {} of the first dimension of '{}', which is [{}]",
                               array.file, *placement.index, variable, to_string(type.dims)));
  const TensorType one = {type.dtype, Dims(type.dims.begin() + 1, type.dims.end())};
  require_loadable(array, fmt::format("{}[{}]", variable, *placement.index), one);
  add_part(part_of(array, 0, array.shape, *placement.index * elements(one.dims)), variable, type.dims, found);
}

// The product of the first dimensions of a variable, up to `per`; 1 without one.
int64_t repetitions_of(const Dims& dims, const std::string& per, const std::string& variable) {
  if (per.empty()) return 1;
  int64_t count = 1;
  for (const Dim& dim : dims) {
    count *= dim.size;
    if (dim.name == per) return count;
  }
  throw RunError(fmt::format("the map cuts '{}' for each index of '{}', which [{}] lacks", variable, per,
                             to_string(dims)));
}

void add_rows(const FoundTensor& tensor, const Placement& placement,
              const std::vector<const TensorType*>& types, FoundTensors& found) {
  const StoredArray& array = tensor.array;
  const int64_t repetitions = repetitions_of(types.front()->dims, placement.per, placement.variables.front());
  int64_t total = 0;
  for (const TensorType* type : types) total += elements(type->dims);
  if (array.shape.empty() || element_count(array.shape) != total)
    throw RunError(fmt::format("{} has the shape {}, but {} have {} elements together", array.file,
                               shape_text(array.shape), fmt::join(placement.variables, ", "), total));
  const int64_t width = total / std::max<int64_t>(1, array.shape.front());
  int64_t first = 0;
  for (size_t v = 0; v < types.size(); ++v) {
    const Dims& dims = types[v]->dims;
    const int64_t chunk = elements(dims) / repetitions;
    std::vector<int64_t> shape = array.shape;
    shape.front() = elements(dims) / std::max<int64_t>(1, width);
    StoredArray rows = array;
    rows.shape = shape;
    require_loadable(rows, placement.variables[v], *types[v]);
    for (int64_t i = 0; i < repetitions; ++i)
      add_part(part_of(array, i * (total / repetitions) + first, {chunk}, i * chunk), placement.variables[v],
               dims, found);
    first += chunk;
  }
}

}  // namespace

void place_tensor(FoundTensor tensor, const Placement& placement, const VariableTypes& types,
                  FoundTensors& found) {
  if (placement.variables.size() == 1 && !placement.index)
    return add_whole(std::move(tensor), placement.variables.front(), found);
  std::vector<const TensorType*> own;
  for (const std::string& variable : placement.variables) {
    own.push_back(type_of(types, variable));
    if (!own.back()) return add_whole(std::move(tensor), variable, found);
  }
  if (placement.index)
    add_indexed(tensor, placement, *own.front(), found);
  else
    add_rows(tensor, placement, own, found);
}

StoredArray tensor_of(const PublishedTensor& tensor, const VariableTypes& types,
                      const std::function<StoredArray(const std::string& variable)>& values) {
  const Placement& placement = tensor.placement;
  const std::vector<std::string>& variables = placement.variables;
  const Dims& first_dims = types.at(variables.front()).dims;
  if (placement.index)
    return cut_out(values(variables.front()), *placement.index * element_count(tensor.shape), tensor.shape);
  std::vector<StoredArray> arrays;
  for (const std::string& variable : variables) arrays.push_back(values(variable));
  StoredArray whole = arrays.front();
  whole.shape = tensor.shape;
  if (variables.size() == 1) return whole;
  whole.checksum.reset();
  whole.scales = nullptr;
  const int64_t repetitions = repetitions_of(first_dims, placement.per, variables.front());
  std::vector<ArrayPart> parts;
  int64_t begin = 0;
  for (int64_t i = 0; i < repetitions; ++i)
    for (size_t v = 0; v < variables.size(); ++v) {
      const int64_t chunk = elements(types.at(variables[v]).dims) / repetitions;
      if (chunk > 0) parts.push_back(part_of(arrays[v], i * chunk, {chunk}, begin));
      begin += chunk;
    }
  whole.parts = std::make_shared<const std::vector<ArrayPart>>(std::move(parts));
  return whole;
}

void join_parts(FoundTensors& found, const VariableTypes& types) {
  for (auto& [variable, tensor] : found) {
    std::vector<ArrayPart>& parts = tensor.parts;
    if (parts.empty()) continue;
    int64_t reached = 0;
    for (const ArrayPart& part : parts)
      if (part.begin == reached) reached += element_count(part.array.shape);
    const TensorType* type = type_of(types, variable);
    if (type && reached != elements(type->dims))
      throw RunError(
          fmt::format("'{}' of the model consists of several tensors, and that behind {} is missing",
                      variable, parts.front().begin == 0 ? parts.front().array.file : "its beginning"));
    tensor.array.parts = std::make_shared<const std::vector<ArrayPart>>(std::move(parts));
  }
}

}  // namespace mtfc
