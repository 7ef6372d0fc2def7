#include "runtime/execute/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "runtime/memory/dtypes.h"

namespace mtfc {
namespace {

// Numbers near the smallest ones lose digits.
double smallest(DType dtype) {
  return 1024 * (dtype == DType::kF64 ? std::numeric_limits<double>::min()
                                      : static_cast<double>(std::numeric_limits<float>::min()));  // bf16 too
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// Counts the elements that are NaN in both, which are equal bit by bit.
void count_nans(const HostTensor& value, const std::string& name, Comparison& comparison) {
  if (!is_float(value.type.dtype)) return;
  dispatch(Floats{}, value.type.dtype, [&]<typename T>() {
    const T* elements = reinterpret_cast<const T*>(value.data.data());
    for (size_t i = 0; i < value.size(); ++i)
      if (std::isnan(elements[i]) && ++comparison.nans == 1) comparison.nan_where = name;
  });
}

}  // namespace

bool is_equal(const Assembled& found, const HostTensor& expected) {
  if (!found.torn.empty()) return false;
  if (found.held.empty()) return found.value.data == expected.data;
  const auto size = static_cast<size_t>(size_of(expected.type.dtype));
  for (size_t i = 0; i < found.held.size(); ++i)
    if (found.held[i] &&
        std::memcmp(found.value.data.data() + i * size, expected.data.data() + i * size, size) != 0)
      return false;
  return true;
}

void compare(const Assembled& found, const ExpectedTensor& expected, MadeTensor place,
             Comparison& comparison) {
  if (is_equal(found, expected.value)) return count_nans(expected.value, place.name, comparison);
  place.type = found.value.type;
  const bool exact = !is_float(place.type.dtype);
  const double floor = smallest(place.type.dtype);
  const std::vector<double> a = numbers_of(expected.value), b = numbers_of(found.value);
  const Rounding& rounding = expected.rounding;
  const std::vector<double>& added = rounding.magnitudes.empty() ? a : rounding.magnitudes;
  const std::vector<double>& rounded = expected.terms_of_devices.empty() ? a : expected.terms_of_devices;
  if (!found.torn.empty() && !comparison.first)
    comparison.first = {place, found.torn[0], a[found.torn[0]], b[found.torn[0]], -1};
  for (size_t i = 0; i < a.size(); ++i) {
    if (!found.holds(i)) continue;
    if (std::isnan(a[i]) && std::isnan(b[i]) && ++comparison.nans == 1) comparison.nan_where = place.name;
    if (same(a[i], b[i])) continue;
    const double difference = std::abs(a[i] - b[i]);
    const double allowed =
        exact ? 0
              : rounding.of_terms * std::abs(added[i]) + rounding.of_result * std::abs(rounded[i]) + floor;
    const double relative = difference / std::max(std::abs(added[i]), floor);
    if (!exact && relative > comparison.largest) {
      comparison.largest = relative;
      comparison.where = place.name;
    }
    if (!(difference <= allowed) && !comparison.first) comparison.first = {place, i, a[i], b[i], allowed};
  }
}

}  // namespace mtfc
