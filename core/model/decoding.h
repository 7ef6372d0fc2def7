#pragma once
// What generation needs to know of a model with `decode`, and what it needs of the model.

#include <cstdint>

#include "core/model/model.h"

namespace mtfc {

/// Positions from 0 on for which every cache that is written at the position, or at a place counted from it,
/// has room, and every table that is read at it has a row. INT64_MAX where nothing depends on it.
int64_t decode_positions(const DecodeSpec& decode);

/// The model without all that only training and evaluation run: its variables and its decode, so that neither
/// takes memory and no layout is refused for their sake.
Model only_decode(Model model);

}  // namespace mtfc
