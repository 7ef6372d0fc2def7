#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/diagnostics/suggest.h"
#include "core/tensors/name_pattern.h"
#include "formats/model/part_readers.h"
#include "formats/model/type_reader.h"

namespace mtfc {
namespace {

bool has_match(const Graph& graph, const std::string& pattern) {
  return std::any_of(graph.tensors().begin(), graph.tensors().end(),
                     [&](const Tensor& tensor) { return matches_name(pattern, tensor.name); }) ||
         std::any_of(graph.aliases().begin(), graph.aliases().end(),
                     [&](const auto& alias) { return matches_name(pattern, alias.first); }) ||
         std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
           return node.loop && (has_match(node.loop->condition.graph, pattern) ||
                                has_match(node.loop->body.graph, pattern));
         });
}

void require_match(const NamedCursor& tensor, const Model& model) {
  if (has_match(model.graph, tensor.key) || (model.decode && has_match(model.decode->graph, tensor.key)))
    return;
  std::vector<std::string> names;
  for (const Tensor& known : model.graph.tensors())
    if (known.from_model) names.push_back(known.name);
  for (const auto& [name, id] : model.graph.aliases()) names.push_back(name);
  tensor.value.sink().error(tensor.key_location, fmt::format("no tensor matches '{}'", tensor.key),
                            did_you_mean(tensor.key, names));
}

}  // namespace

std::optional<DType> read_mixed_dtype(const Cursor& at) {
  const std::optional<DType> dtype = read_dtype(at);
  if (!dtype || *dtype == DType::kF32 || *dtype == DType::kBF16) return dtype;
  at.error(fmt::format("mixed precision has f32 and bf16, not {}", to_string(*dtype)),
           *dtype == DType::kF64 ? "--dtype f64 computes all of a model in f64" : "");
  return std::nullopt;
}

StatedPrecision read_precision(const Cursor& at, const Model& model) {
  StatedPrecision stated;
  if (at.is(JsonKind::kString)) {
    stated.dtype = read_mixed_dtype(at).value_or(stated.dtype);
    return stated;
  }
  if (!at.check_keys({"dtype", "gradients", "tensors", "doc"})) return stated;
  if (const auto dtype = at.find("dtype")) stated.dtype = read_mixed_dtype(*dtype).value_or(stated.dtype);
  if (const auto dtype = at.find("gradients"))
    stated.precision.gradients = read_mixed_dtype(*dtype).value_or(stated.precision.gradients);
  const auto tensors = at.find("tensors");
  if (!tensors) return stated;
  for (const NamedCursor& tensor : tensors->members("an object {pattern: dtype}")) {
    require_match(tensor, model);
    if (const std::optional<DType> dtype = read_mixed_dtype(tensor.value))
      stated.precision.tensors.push_back({tensor.key, *dtype});
  }
  return stated;
}

}  // namespace mtfc
