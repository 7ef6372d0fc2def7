#pragma once
// Properties of a model with `decode` that generation needs, and the reduction of a model to what it needs.

#include <cstdint>
#include <vector>

#include "core/model/model.h"

namespace mtfc {

/// The number of positions, from 0 on, for which there is room: in every cache that is written at the
/// position or at a place counted from it, and in every table that is read at it. INT64_MAX if nothing
/// depends on the position.
int64_t decode_positions(const DecodeSpec& decode);

/// The inputs of the model that the tensors depend on which caches hold: those of the entry point `encode`.
std::vector<InputDecl> encode_inputs(const Model& model);

/// The model without everything that only training and evaluation run: its variables, its `decode` and what the
/// caches hold. The rest then takes no memory, and no layout is refused because of it.
Model only_decode(Model model);

}  // namespace mtfc
