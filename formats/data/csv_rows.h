#pragma once
// Writes tensors as CSV: a line for each of their rows, after one with the names of the columns.
//
//   logits [batch=2, classes=2] and label [batch=2]:
//     logits.0,logits.1,label
//     0.25,-1.5,0
//     3,1e-07,1

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/tensors/shape.h"

namespace mtfc {

/// A tensor whose rows lie along one of its dimensions; its elements are in row-major order.
struct RowTensor {
  std::string name;
  TensorType type;
  size_t row_dim = 0;
  const std::byte* data = nullptr;
};

/// The line with the names of the columns. A tensor with several elements in a row has a column for each, and the
/// element's indices in its name. Names with a comma or a quote are quoted (RFC 4180).
std::string csv_header(const std::vector<RowTensor>& tensors);

/// The lines of the first `rows` rows. Numbers have as few digits as it takes to read the same number again; bools are
/// 1 and 0.
std::string csv_rows(const std::vector<RowTensor>& tensors, int64_t rows);

}  // namespace mtfc
