#pragma once
// How long `decode` can go on: its caches and its tables of positions end somewhere.

#include <cstdint>

#include "core/model.h"

namespace mtfc {

/// Positions from 0 on for which every cache that is written at the position, or at a place counted from it,
/// has room, and every table that is read at it has a row. INT64_MAX where nothing depends on it.
int64_t decode_positions(const DecodeSpec& decode);

}  // namespace mtfc
