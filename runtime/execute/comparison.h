#pragma once
// Compares tensors, and keeps what is to be said about them, for `mtfc verify`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/execute/rounding.h"
#include "runtime/execute/whole_value.h"

namespace mtfc {

/// A tensor, and the operation that makes it.
struct MadeTensor {
  std::string entry = {};
  int64_t step = 0;
  std::string name = {};
  std::string operation = {};  // the kind of operation that makes it, or "variable", "input", "output"
  std::string source = {};     // JSON pointer of the operation, or ""
  TensorType type = {};
};

struct Difference {
  MadeTensor tensor;
  size_t element = 0;
  double expected = 0;
  double found = 0;
  double allowed = 0;  // below 0: devices that should agree hold different values
};

struct Comparison {
  size_t tensors = 0;               // number compared
  std::optional<Difference> first;  // in the order in which one device makes the tensors
  double largest = 0;               // the largest difference of floats, relative to the magnitudes added, and
  std::string where;                // the name of that tensor
  size_t nans = 0;                  // elements that are NaN in both runs, which proves nothing, and
  std::string nan_where;            // the first tensor that has one
};

/// A tensor as it should be.
struct ExpectedTensor {
  HostTensor value;
  Rounding rounding = {};  // what may differ; integers must be equal
  std::vector<double> terms_of_devices =
      {};  // magnitudes of the terms that devices hold of a sum; empty: of none
};

/// True if both are the same bit by bit.
bool is_equal(const Assembled& found, const HostTensor& expected);

/// Compares `found` with `expected`, which has the same type, and adds what it finds to `comparison`. `place` lacks
/// only the type.
void compare(const Assembled& found, const ExpectedTensor& expected, MadeTensor place,
             Comparison& comparison);

}  // namespace mtfc
