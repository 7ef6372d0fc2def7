#pragma once
// The words in which the user hears of an error. The exit code that goes with them is exit_code() of
// core/diagnostics/error.h.

#include <exception>
#include <string>

namespace mtfc {

/// Lines for standard error, the last one ended too: one line for each diagnostic of a UserError; for an error
/// that is a bug, the request to report it. With `color` the word "error" stands out on a terminal.
std::string error_text(const std::exception& error, bool color);

/// Prints the error's text on standard error.
void show_error(const std::exception& error);
void show_error(const std::exception_ptr& error);

}  // namespace mtfc
