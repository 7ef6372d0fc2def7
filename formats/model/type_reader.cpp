#include "formats/model/type_reader.h"

#include <fmt/format.h>

#include "core/diagnostics/suggest.h"
#include "formats/reference/foreign_names.h"

namespace mtfc {
std::optional<Dim> read_dim(const Cursor& at, const ModelScope& scope) {
  const std::optional<std::string> name = at.string("the name of a dimension");
  if (!name) return std::nullopt;
  if (scope.is_broken(*name)) {
    at.sink().consequence();
    return std::nullopt;
  }
  if (const Dim* dim = scope.dim(*name)) return *dim;
  if (at.sink().is_new("dimension " + *name))
    at.error(fmt::format("unknown dimension '{}'", *name), scope.hint_for(*name, scope.dim_names()));
  else
    at.sink().consequence();
  return std::nullopt;
}

std::optional<Dims> read_dims(const Cursor& at, const ModelScope& scope, bool one_allowed) {
  Dims dims;
  if (one_allowed && at.is(JsonKind::kString)) {
    const std::optional<Dim> dim = read_dim(at, scope);
    if (!dim) return std::nullopt;
    return Dims{*dim};
  }
  const size_t before = at.sink().error_count();
  for (const Cursor& item :
       at.items(one_allowed ? "a dimension or a list of dimensions" : "a list of dimensions")) {
    const std::optional<Dim> dim = read_dim(item, scope);
    if (!dim) continue;
    if (contains(dims, dim->name))
      item.error(fmt::format("dimension '{}' appears twice", dim->name));
    else
      dims.push_back(*dim);
  }
  if (at.sink().error_count() > before) return std::nullopt;
  if (const std::string problem = size_problem(dims); !problem.empty()) {
    at.error(problem);
    return std::nullopt;
  }
  return dims;
}

std::optional<Dims> read_parts(const Cursor& at, const ModelScope& scope) {
  if (at.is(JsonKind::kString)) return read_dims(at, scope, true);
  const size_t before = at.sink().error_count();
  Dims parts;
  for (const Cursor& item : at.items("a dimension or a list of dimensions"))
    if (const std::optional<Dim> dim = read_dim(item, scope)) parts.push_back(*dim);
  if (at.sink().error_count() > before) return std::nullopt;
  if (parts.empty()) {
    at.error("the list names no dimension");
    return std::nullopt;
  }
  return parts;
}

std::optional<DType> read_dtype(const Cursor& at) {
  const std::optional<std::string> name = at.string("a dtype");
  if (!name) return std::nullopt;
  const std::optional<DType> dtype = value_named<DType>(*name);
  if (dtype && *dtype != DType::kI8) return dtype;
  std::string hint = foreign_hint(ForeignKind::kDType, *name);
  if (hint.empty()) hint = did_you_mean(*name, model_dtypes());
  if (hint.empty()) hint = "dtypes are f32, f64, bf16, i32, i64 and bool";
  at.error(fmt::format("unknown dtype '{}'", *name), hint);
  return std::nullopt;
}

std::optional<TensorType> read_tensor_type(const Cursor& at, const ModelScope& scope) {
  TensorType type;
  bool good = true;
  if (const std::optional<Cursor> cursor = at.find("dtype")) {
    const std::optional<DType> dtype = read_dtype(*cursor);
    good = dtype.has_value();
    type.dtype = dtype.value_or(DType::kF32);
  }
  const std::optional<Cursor> cursor = at.require("dims");
  const std::optional<Dims> dims = cursor ? read_dims(*cursor, scope, false) : std::nullopt;
  if (!dims || !good) return std::nullopt;
  type.dims = *dims;
  return type;
}

std::string size_problem(const Dims& dims) {
  int64_t bytes = 8;  // size of the largest dtype
  for (const Dim& dim : dims)
    if (__builtin_mul_overflow(bytes, dim.size, &bytes))
      return fmt::format("a tensor of dimensions [{}] is too large", to_string(dims));
  return "";
}

}  // namespace mtfc
