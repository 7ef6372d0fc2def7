#pragma once
// Hardware profiles as JSON, in both directions. `mtfc schema hardware` describes the same format.

#include <string>
#include <string_view>

#include "core/cost/hardware.h"

namespace mtfc {

/// Throws UserError with all that is wrong. `file` is for messages.
Hardware read_hardware(std::string_view text, const std::string& file);

/// Returns JSON that read_hardware reads back as the same profile. Numbers have four significant digits.
std::string hardware_json(const Hardware& hardware);

}  // namespace mtfc
