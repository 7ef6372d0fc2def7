#pragma once
// Numbers of a model file as constants of the graph: a number that its dtype can't hold is an error, not
// another number.

#include <optional>

#include "core/graph/op_def.h"
#include "core/tensors/shape.h"

namespace mtfc {

/// The error for `value` as a constant of type `dtype`; nullopt if it is valid. Numbers are read as f64, so
/// integers from 2^53 on may have been rounded and are refused for integer types.
std::optional<OpError> literal_problem(double value, DType dtype);

}  // namespace mtfc
