#pragma once
// The values that a device must keep while a product runs, in any order of the steps: those made by the
// product or for it, directly or not, that are read by the product or by steps that depend on it. In training
// these are the activations that the backward pass needs. They follow from the dependences alone, so they
// hold for every layout.
//
//   h = x.w; y = h.v; dy = grad(y); dv = dy.h; ...   while y = h.v runs: h, for y and dv, and y, for dy

#include <vector>

#include "core/program/program.h"

namespace mtfc {

/// A value, and the values that are the same elements under other dimensions.
using ValueViews = std::vector<ValueId>;

/// The values kept at the product of `entry` at which they take the most bytes. Variables, caches, and values
/// made from nothing do not count. `entry` is compiled for one device.
std::vector<ValueViews> kept_values(const EntryPoint& entry);

}  // namespace mtfc
