#pragma once
// Dimensions and dtypes by name, as used by inputs, variables and attributes.

#include <optional>
#include <string>
#include <string_view>

#include "core/tensors/shape.h"
#include "formats/json/cursor.h"
#include "formats/model/model_scope.h"

namespace mtfc {

/// Each records errors and returns nullopt if there are any.
std::optional<Dim> read_dim(const Cursor& at, const ModelScope& scope);
/// A list of distinct dimensions; with `one_allowed` also a single name.
std::optional<Dims> read_dims(const Cursor& at, const ModelScope& scope, bool one_allowed);
/// A name or a list of names, with repetitions allowed: the pieces of a dimension, one after another.
std::optional<Dims> read_parts(const Cursor& at, const ModelScope& scope);
std::optional<DType> read_dtype(const Cursor& at);
/// Reads the keys `dims` and `dtype` (f32 if absent) of an input or a variable.
std::optional<TensorType> read_tensor_type(const Cursor& at, const ModelScope& scope);

/// `[batch=…] is too large: …` if the bytes of a tensor of these dimensions exceed int64_t, else "".
std::string size_problem(const Dims& dims);

}  // namespace mtfc
