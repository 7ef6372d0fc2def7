#pragma once
// `mtfc verify` for `decode`: its logits must be those of the model's own operations, on one device and under the
// layout.

#include <cstdint>
#include <optional>
#include <string>

#include "cmd/options/model_options.h"

namespace mtfc {

struct DecodeVerdict {
  std::string text;  // lines for the user; "" if the model has no `decode`
  bool agrees = true;
};

/// Compares the first `positions` positions, or all of them. Both are computed in f64, so that a difference is one of
/// the two descriptions and not of rounding, and from variables that no initial value of 0 or 1 hides.
DecodeVerdict verify_decode(const Sources& sources, const ModelOptions& options,
                            std::optional<int64_t> positions, uint64_t seed);

}  // namespace mtfc
