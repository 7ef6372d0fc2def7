#include "formats/report/scale.h"

#include <algorithm>
#include <cmath>

namespace mtfc {

Scale::Scale(double least, double most) {
  const double margin = std::max(0.06 * (most - least), 0.02 * most);
  from = std::max(0.0, least - margin);
  to = most + margin;
}

std::vector<double> round_numbers(const Scale& scale, double base) {
  const double apart = (scale.to - scale.from) / 4;
  const double power = std::pow(base, std::floor(std::log(apart) / std::log(base)));
  double step = base * power;
  for (const double factor : {base / 2, 2.0, 1.0})
    if (factor * power >= apart) step = factor * power;
  std::vector<double> numbers;
  for (double at = std::ceil(scale.from / step) * step; at <= scale.to; at += step) numbers.push_back(at);
  return numbers;
}

}  // namespace mtfc
