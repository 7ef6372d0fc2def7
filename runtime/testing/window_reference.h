#pragma once
// For tests: operations with windows by plain loops over all places, taps and elements, on whole tensors of doubles.
// They share no code with the kernels.

#include "core/graph/attributes.h"
#include "runtime/testing/sharded_runs.h"

namespace mtfc {

/// The three tensors of a convolution. Each is a product of the other two, summed over what meets: elements of the
/// operand, taps of the filter, and places of the result.
struct ConvTypes {
  Windows windows;
  TensorType x, w, y;
};

/// y = conv(x, w).
WholeTensor conv_reference(const ConvTypes& types, const WholeTensor& x, const WholeTensor& w);
/// The gradient of x, from that of y.
WholeTensor conv_operand_gradient(const ConvTypes& types, const WholeTensor& dy, const WholeTensor& w);
/// The gradient of w, from that of y.
WholeTensor conv_filter_gradient(const ConvTypes& types, const WholeTensor& x, const WholeTensor& dy);

/// The tensors of a pool.
struct PoolTypes {
  Windows windows;
  TensorType x, y;
};

/// The sum of what each window reads, and its gradient.
WholeTensor sum_pool_reference(const PoolTypes& types, const WholeTensor& x);
WholeTensor sum_pool_gradient(const PoolTypes& types, const WholeTensor& dy);
/// The maximum of what each window reads, and its gradient: the first element that is the maximum has it.
WholeTensor max_pool_reference(const PoolTypes& types, const WholeTensor& x);
WholeTensor max_pool_gradient(const PoolTypes& types, const WholeTensor& x, const WholeTensor& dy);

}  // namespace mtfc
