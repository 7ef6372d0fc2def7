#pragma once
// Products of matrices of which many rows are all zero, such as those of experts' places that no token has taken: they
// are computed without these rows.

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/compute/blas.h"

namespace mtfc {

/// Multiplies the matrices that a product describes.
template <typename T>
using Multiply = std::function<void(const MatrixProduct&, const T* a, const T* b, T* c)>;

/// The share of rows that may be left out of a product, estimated from at most 64 of them: rows of a if they lie side
/// by side, whose rows of c are then zeros; otherwise the rows that are added up, if they lie side by side in a and in
/// b. 0 for other products, those that add to c, and small and narrow ones.
template <typename T>
double share_empty(const MatrixProduct& product, const T* a, const T* b);

/// The share from which it pays to leave rows out, since those that remain must be copied.
inline constexpr double kShareWorthSkipping = 0.2;

/// Computes a product of share_empty > 0 without the rows that are all zero, by products of `multiply` over copies of
/// the others. Each is padded with zeros to a multiple of `unit` rows, unless the product has fewer. `copies` is memory
/// that calls may share, some MB. A row of zeros counts as 0 also where it meets infinity or not-a-number.
template <typename T>
void multiply_filled(const MatrixProduct& product, const T* a, const T* b, T* c, int64_t unit,
                     const Multiply<T>& multiply, std::vector<T>& copies);

}  // namespace mtfc
