#pragma once
// Nested loops over dense tensors: the extents, and for each tensor the stride in elements along each loop.
//
// Kernels describe their access by names of dimensions once, when they are prepared; collapsing then makes
// loops as few and as long as the memory order allows. Example: x[4, 6] + bias[6] has the loops {4, 6} with
// strides x {6, 1} and bias {0, 1}; x alone collapses to {24} with stride {1}.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/compute/kernel.h"

namespace mtfc {

/// There can't be more loops of two or more iterations: their product would not fit in 63 bits.
inline constexpr size_t kMaxLoops = 63;
inline constexpr size_t kMaxWalked = 3;

struct LoopNest {
  std::vector<int64_t> extents;
  std::vector<std::vector<int64_t>> strides;  // [tensor][loop], 0 if the tensor lacks the dimension

  size_t loops() const { return extents.size(); }
  int64_t count() const;
};

/// The stride in elements along each dimension of a dense row-major tensor.
std::vector<int64_t> dense_strides(const std::vector<int64_t>& extents);
/// For each of `dims`, the stride of the dimension of that name in `tensor`, or 0.
std::vector<int64_t> aligned_strides(const LocalTensor& tensor, const Dims& dims);
/// The same for the dimension `name` alone.
int64_t aligned_stride(const LocalTensor& tensor, std::string_view name);
/// The region of the dimension `name`, which the tensor has.
Interval local_interval(const LocalTensor& tensor, std::string_view name);
/// The local extent of the dimension `name`; 1 if the tensor lacks it.
int64_t local_extent(const LocalTensor& tensor, std::string_view name);

/// Keeps the iterations and their order, drops loops of one iteration, and joins neighbouring loops that
/// every tensor walks as one.
LoopNest collapse(const LoopNest& nest);

/// A position in the first `loops` loops of a nest, and each tensor's offset there, in elements.
class NestCursor {
 public:
  NestCursor(const LoopNest& nest, size_t loops, int64_t start);

  int64_t offset(size_t tensor) const { return offsets_[tensor]; }
  void next();

 private:
  const LoopNest& nest_;
  size_t loops_;
  std::array<int64_t, kMaxLoops> index_;
  std::array<int64_t, kMaxWalked> offsets_{};
};

/// Copies elements [start, start + count) of a nest over one tensor to `to`, in the order of the loops.
using NestCopy = void (*)(const LoopNest& nest, int64_t start, int64_t count, const std::byte* from,
                          std::byte* to);
NestCopy nest_copy(DType dtype);

}  // namespace mtfc
