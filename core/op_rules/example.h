#pragma once
// Examples of operations, written short: `normal("batch=5 hidden=7")`. They feed the tests over the registry
// and `mtfc ops`, so their sizes are chosen not to divide by 2, 3 or 4.

#include <string_view>

#include "core/graph/op_def.h"

namespace mtfc {

/// `batch=5 hidden=7`; an empty text is a scalar. An InternalError for anything else.
Dims dims_of(std::string_view text);
/// The only dimension of `text`.
Dim dim_of(std::string_view text);

ExampleOperand normal(std::string_view dims, DType dtype = DType::kF64);
/// Integers are 1 or 2.
ExampleOperand positive(std::string_view dims, DType dtype = DType::kF64);
/// Small integers, so that values tie.
ExampleOperand steps(std::string_view dims, DType dtype = DType::kF64);
/// Indices in [0, limit).
ExampleOperand indices(std::string_view dims, int64_t limit, DType dtype = DType::kI32);
ExampleOperand flags(std::string_view dims);

/// Uses of an element-wise operation of two operands: dimensions missing, added and in another order.
using ExampleMaker = ExampleOperand (*)(std::string_view dims, DType dtype);
std::vector<Example> aligned_examples(ExampleMaker first, ExampleMaker second);
/// The same, and one of integers.
std::vector<Example> aligned_number_examples();
/// Numbers that tie, and integers.
std::vector<Example> comparison_examples();

}  // namespace mtfc
