#pragma once
// The layouts that a person would try first. A search compiles them before all others, so that what it has found is
// never worse than these, however early it is stopped.
//
//   batch:rows+cols        batch:rows, heads:cols, d_ff:cols        heads:rows+cols, d_ff:rows+cols        batch:rows
//
// The batch is the largest dimension that an input has first. The dimensions of the weights are those that a variable
// has and no input; of these, as many are split over the same axes as tensors permit.

#include <cstdint>
#include <vector>

#include "core/model/model.h"
#include "core/search/search_space.h"

namespace mtfc {

/// Legal choices of the space, without those that are mirror images of others, in the order in which they should be
/// tried. If nothing can be split in these ways, the choice that splits nothing.
std::vector<std::vector<uint16_t>> plain_choices(const Model& model, const SearchSpace& space);

}  // namespace mtfc
