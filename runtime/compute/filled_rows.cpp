#include "runtime/compute/filled_rows.h"

#include <algorithm>
#include <cmath>

namespace mtfc {
namespace {

constexpr int64_t kSamples = 64;
constexpr int64_t kLeastRows = 64;       // of a product, from which rows are left out
constexpr int64_t kLeastWork = 1 << 20;  // multiplications of such a product
constexpr int64_t kLeastWidth = 64;      // columns of its result, so that copying a row costs little
constexpr int64_t kLeastCopied = 256;    // rows in one product of copies ...
constexpr int64_t kMostCopied = 1024;    // ... fewer where the copies would take more elements than
constexpr int64_t kCopiedElements = 2 << 20;

template <typename T>
bool is_empty(const T* row, int64_t size) {
  for (int64_t i = 0; i < size; ++i)
    if (row[i] != T{0}) return false;
  return true;
}

bool skips_results(const MatrixProduct& p) {
  return !p.a_transposed;
}

// The rows of a product that may be left out.
template <typename T>
struct Rows {
  const MatrixProduct& p;
  const T* a;
  const T* b;

  int64_t count() const { return skips_results(p) ? p.m : p.k; }
  bool empty(int64_t row) const {
    if (skips_results(p)) return is_empty(a + row * p.a_leading, p.k);
    return is_empty(a + row * p.a_leading, p.m) || is_empty(b + row * p.b_leading, p.n);
  }
};

// Multiples of the golden ratio are spread evenly and do not coincide with regular patterns of rows.
int64_t sampled_row(int64_t sample, int64_t rows) {
  const double multiple = static_cast<double>(sample) * 0.6180339887498949;
  return static_cast<int64_t>((multiple - std::floor(multiple)) * static_cast<double>(rows));
}

template <typename T>
void copy_rows(const T* matrix, int64_t leading, int64_t size, const std::vector<int64_t>& rows,
               int64_t begin, int64_t end, T* copy) {
  for (int64_t r = begin; r < end; ++r, copy += size)
    std::copy_n(matrix + rows[static_cast<size_t>(r)] * leading, size, copy);
}

// Moves the first rows of c to their places, the last one first, and sets all others to zeros.
template <typename T>
void spread(const MatrixProduct& p, const std::vector<int64_t>& filled, T* c) {
  auto next = static_cast<int64_t>(filled.size()) - 1;
  for (int64_t row = p.m - 1; row >= 0; --row) {
    T* const to = c + row * p.c_leading;
    if (next < 0 || filled[static_cast<size_t>(next)] != row)
      std::fill_n(to, p.n, T{0});
    else if (next-- != row)
      std::copy_n(c + (next + 1) * p.c_leading, p.n, to);
  }
}

}  // namespace

template <typename T>
double share_empty(const MatrixProduct& product, const T* a, const T* b) {
  const Rows<T> rows{product, a, b};
  const bool lie_as_rows = skips_results(product) || !product.b_transposed;
  if (!lie_as_rows || product.adds || rows.count() < kLeastRows || product.n < kLeastWidth ||
      (!skips_results(product) && product.m < kLeastWidth) || product.m * product.n * product.k < kLeastWork)
    return 0;
  int64_t empty = 0;
  for (int64_t i = 0; i < kSamples; ++i) empty += rows.empty(sampled_row(i, rows.count()));
  return static_cast<double>(empty) / kSamples;
}

template <typename T>
void multiply_filled(const MatrixProduct& product, const T* a, const T* b, T* c, int64_t unit,
                     const Multiply<T>& multiply, std::vector<T>& copies) {
  const Rows<T> rows{product, a, b};
  std::vector<int64_t> filled;
  for (int64_t row = 0; row < rows.count(); ++row)
    if (!rows.empty(row)) filled.push_back(row);
  const auto count = static_cast<int64_t>(filled.size());
  const bool results = skips_results(product);
  const int64_t size_a = results ? product.k : product.m, size_b = results ? 0 : product.n;
  const int64_t together = std::clamp(kCopiedElements / (size_a + size_b), kLeastCopied, kMostCopied);
  for (int64_t begin = 0; begin < count; begin += together) {
    const int64_t end = std::min(count, begin + together);
    const int64_t padded = std::min((end - begin + unit - 1) / unit * unit, rows.count() - begin);
    copies.resize(static_cast<size_t>(padded * (size_a + size_b)));
    T* const copy_a = copies.data();
    T* const copy_b = copy_a + padded * size_a;
    const int64_t padding = padded - (end - begin);
    std::fill_n(copy_b - padding * size_a, padding * size_a, T{0});
    std::fill_n(copies.data() + copies.size() - padding * size_b, padding * size_b, T{0});
    copy_rows(a, product.a_leading, size_a, filled, begin, end, copy_a);
    MatrixProduct part = product;
    part.a_leading = size_a;
    if (results) {
      part.m = padded;
      multiply(part, copy_a, b, c + begin * product.c_leading);
    } else {
      copy_rows(b, product.b_leading, size_b, filled, begin, end, copy_b);
      part.k = padded;
      part.b_leading = size_b;
      part.adds = begin > 0;
      multiply(part, copy_a, copy_b, c);
    }
  }
  if (results) return spread(product, filled, c);
  if (count == 0)
    for (int64_t row = 0; row < product.m; ++row) std::fill_n(c + row * product.c_leading, product.n, T{0});
}

template double share_empty(const MatrixProduct&, const float*, const float*);
template double share_empty(const MatrixProduct&, const double*, const double*);
template void multiply_filled(const MatrixProduct&, const float*, const float*, float*, int64_t,
                              const Multiply<float>&, std::vector<float>&);
template void multiply_filled(const MatrixProduct&, const double*, const double*, double*, int64_t,
                              const Multiply<double>&, std::vector<double>&);

}  // namespace mtfc
