#pragma once
// A short notation for examples of operations: `normal("batch=5 hidden=7")`. Examples feed the tests over the
// registry and `mtfc ops`. Their sizes do not divide by 2, 3 or 4, so that shards differ in size.

#include <string_view>

#include "core/graph/op_def.h"

namespace mtfc {

/// Dimensions from a text such as `batch=5 hidden=7`; an empty text is a scalar. Throws InternalError for
/// anything else.
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

/// A tensor with these elements, in row-major order. Their number must fit the dimensions.
KnownTensor known(std::string_view dims, std::vector<double> elements, DType dtype = DType::kF32);

/// A use of an operation, together with the results that it must give.
WorkedExample worked(std::vector<KnownTensor> operands, Attributes attributes,
                     std::vector<std::vector<double>> results);

/// Uses of an element-wise operation of two operands: one lacks dimensions, adds some, or has another order.
using ExampleMaker = ExampleOperand (*)(std::string_view dims, DType dtype);
std::vector<Example> aligned_examples(ExampleMaker first, ExampleMaker second);
/// The same, with a use on integers.
std::vector<Example> aligned_number_examples();
/// The same on numbers that tie, with a use on integers.
std::vector<Example> comparison_examples();

}  // namespace mtfc
