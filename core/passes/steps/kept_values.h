#pragma once
// What a device must keep while a product runs, whatever the order of the steps: the values that were made
// for it, directly or not, and that something made from it needs again. In training these are the activations
// that the way back needs. They follow from which value is made of which, so that they hold for every layout.
//
//   h = x.w; y = h.v; dy = grad(y); dv = dy.h; ...   while dy is made of y: x and h, which dw and dv need

#include <vector>

#include "core/program/program.h"

namespace mtfc {

/// A value with the values that are the same elements under other dimensions.
using ValueViews = std::vector<ValueId>;

/// Those of the product, among all of `entry`, at which they take most. Variables, caches, and what is made
/// from nothing are left out. `entry` is compiled for one device.
std::vector<ValueViews> kept_values(const EntryPoint& entry);

}  // namespace mtfc
