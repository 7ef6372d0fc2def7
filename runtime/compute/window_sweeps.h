#pragma once
// The places and taps of a window that meet elements of the operand, on the device that holds a region of each.
//
// With a base dilation, most pairs of a place and a tap fall between elements. Places and taps are therefore divided
// into residue classes. Within a class, called a sweep, every pair meets an element or lies outside of the operand:
//
//   stride 1, base 2, taps 3, padding 1:   places 0, 2, ... meet tap 1        element = place/2
//                                          places 1, 3, ... meet taps 0, 2    element = (place-1)/2 + tap/2
//
// All indices are local ones: they count from the beginning of the device's region.

#include <cstdint>
#include <vector>

#include "core/tensors/sharding.h"
#include "core/tensors/window.h"

namespace mtfc {

/// Place number p is place first_place + p * place_step, and likewise for taps. Together with tap number t, it meets
/// element first + p * per_place + t * per_tap of the operand.
struct Sweep {
  int64_t first_place = 0, place_step = 1, places = 0;
  int64_t first_tap = 0, tap_step = 1, taps = 0;
  int64_t first = 0, per_place = 1, per_tap = 1;
};

/// The sweeps of a window, of which each place belongs to exactly one; those without taps are among them. The intervals
/// are those of the operand, of the taps and of the places.
std::vector<Sweep> sweeps_of(const Window& window, Interval operand, Interval taps, Interval places);

}  // namespace mtfc
