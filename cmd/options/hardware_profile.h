#pragma once
// The profile that --hardware names: a bundled one, or a file.

#include <string>

#include "core/cost/hardware.h"

namespace mtfc {

class CommandLine;

/// --hardware, what `hardware` holds unless given.
void add_hardware_option(CommandLine& line, std::string& hardware);

/// The bundled profile of that name, or the one in a file: what has a '/' or ends in .json, or `-` for
/// standard input. Throws UserError.
Hardware hardware_profile(const std::string& name);

}  // namespace mtfc
