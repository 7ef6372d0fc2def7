#pragma once
// The axes of a drawing.

#include <vector>

namespace mtfc {

/// A range a little wider than the values between `least` and `most`, of which `most` is above 0.
struct Scale {
  Scale(double least, double most);
  /// The place of a value: 0 at the beginning of the range, 1 at its end.
  double share(double value) const { return (value - from) / (to - from); }

  double from, to;
};

/// The numbers of a scale that have round digits in the base 2 or 10, at most five.
std::vector<double> round_numbers(const Scale& scale, double base);

}  // namespace mtfc
