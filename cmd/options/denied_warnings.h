#pragma once
// --deny warnings: a script ends where a person would only be warned.

#include <string>
#include <vector>

#include "core/diagnostics/error.h"

namespace mtfc {

class CommandLine;

/// --deny; `denied` is "warnings" or "".
void add_deny_option(CommandLine& line, std::string& denied);

/// Makes errors of the warnings, if they are denied. Returns whether there are errors then.
bool deny(const std::string& denied, std::vector<Diagnostic>& found);

}  // namespace mtfc
