#pragma once
// Batches of products of matrices by oneDNN: of f32, which are faster than those of OpenBLAS on processors with
// AVX-512, and of bf16 on processors with instructions for them (AVX512_BF16 or AMX). This is the only user of oneDNN.

#include <array>
#include <map>
#include <memory>
#include <optional>

#include "core/tensors/shape.h"
#include "runtime/compute/blas.h"
#include "runtime/compute/loop_nest.h"

namespace mtfc {

struct ProductTypes {
  DType operands = DType::kF32;  // or kBF16
  DType result = DType::kF32;    // or kBF16 if the operands are: sums are computed in f32 and rounded once
};

class BatchedProduct {
 public:
  /// The products of the matrices at each position of `batch`, whose tensors are a, b and c, in this order. It
  /// uses as many threads as OpenMP has now. Returns nothing if other kernels are as fast: on other processors, for
  /// small or narrow matrices, and for some orders of dimensions in memory. It adds to c if `product` says so.
  static std::optional<BatchedProduct> prepare(const MatrixProduct& product, const LoopNest& batch,
                                               ProductTypes types = {});

  /// Computes all products, of elements of the types given. Copies of a BatchedProduct share its state: one thread at a
  /// time may run them.
  void run(const void* a, const void* b, void* c) const;

 private:
  struct Primitive;
  explicit BatchedProduct(std::shared_ptr<Primitive> primitive) : primitive_(std::move(primitive)) {}

  std::shared_ptr<Primitive> primitive_;
};

/// Single products whose sizes become known only when they are computed, such as those without rows of zeros. It keeps
/// what oneDNN makes for each product, so products should have few different sizes: multiples of kUnit.
class SizedProducts {
 public:
  static constexpr int64_t kUnit = 64;
  /// Does what multiply() of blas.h does, and calls it where OpenBLAS is as fast. Inside a parallel region, it uses the
  /// calling thread alone. Does not throw errors of oneDNN.
  void multiply(const MatrixProduct& product, const float* a, const float* b, float* c);

 private:
  std::map<std::array<int64_t, 9>, std::optional<BatchedProduct>> made_;
};

}  // namespace mtfc
