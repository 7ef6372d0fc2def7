#pragma once
// Numbers of a model file as constants of the graph: what a dtype can't hold is an error, not another number.

#include <optional>

#include "core/graph/op_def.h"
#include "core/tensors/shape.h"

namespace mtfc {

/// What is wrong with `value` as a constant of type `dtype`; nothing where it is one. Numbers are read as
/// f64, so whole ones from 2^53 on may have been rounded and are refused as integers.
std::optional<OpError> literal_problem(double value, DType dtype);

}  // namespace mtfc
