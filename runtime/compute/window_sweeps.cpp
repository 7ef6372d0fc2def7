#include "runtime/compute/window_sweeps.h"

#include <algorithm>
#include <numeric>

namespace mtfc {

std::vector<Sweep> sweeps_of(const Window& window, Interval operand, Interval taps, Interval places) {
  const int64_t place_step = window.base / std::gcd(window.base, window.stride);
  const int64_t tap_step = window.base / std::gcd(window.base, window.dilation);
  std::vector<Sweep> sweeps;
  for (int64_t place = 0; place < std::min(place_step, places.size()); ++place) {
    Sweep sweep = {.first_place = place,
                   .place_step = place_step,
                   .places = (places.size() - place + place_step - 1) / place_step,
                   .tap_step = tap_step,
                   .per_place = place_step * window.stride / window.base,
                   .per_tap = tap_step * window.dilation / window.base};
    for (int64_t tap = 0; tap < std::min(tap_step, taps.size()); ++tap) {
      const int64_t at =
          window.stride * (places.begin + place) + window.dilation * (taps.begin + tap) - window.low;
      if (at % window.base != 0) continue;
      sweep.first_tap = tap;
      sweep.taps = (taps.size() - tap + tap_step - 1) / tap_step;
      sweep.first = at / window.base - operand.begin;
    }
    sweeps.push_back(sweep);
  }
  return sweeps;
}

}  // namespace mtfc
