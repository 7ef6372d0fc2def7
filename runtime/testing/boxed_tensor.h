#pragma once
// A region of a tensor with its elements as f64 numbers, for tests that compare a kernel with plain loops, and calls of
// one kernel on such regions.

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "runtime/compute/kernel.h"

namespace mtfc {

struct BoxedTensor {
  LocalTensor tensor;
  std::vector<double> values;  // dense and row-major in the box, as numbers that the dtype has

  /// Holds zeros.
  BoxedTensor(DType dtype, Dims dims, Box box);
  /// The place in `values` of the element at local indices; the stride of the dimension `name`, or 0.
  int64_t stride(const std::string& name) const;
  Interval interval(const std::string& name) const;
  /// Random multiples of 1/64 in [-1, 1), or small integers.
  void fill_randomly(std::mt19937& random);

  std::vector<std::byte> bytes() const;
  void read(const std::vector<std::byte>& bytes);
};

/// The bytes that a kernel wrote, and the flops that it returned.
struct BoxedAnswer {
  std::vector<std::vector<std::byte>> results;
  int64_t flops = 0;
};

/// Prepares and runs a kernel; results have garbage in them before.
BoxedAnswer run_boxed(const KernelDef& kernel, const Attributes& attributes,
                      const std::vector<BoxedTensor>& operands, const std::vector<BoxedTensor>& results,
                      int64_t workspace_bytes);

/// A random number in [least, most].
inline int64_t draw(std::mt19937& random, int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random);
}
/// Mostly all of a dimension, otherwise a part of it, seldom nothing.
Interval draw_interval(std::mt19937& random, int64_t size);

}  // namespace mtfc
