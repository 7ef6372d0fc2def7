#pragma once
// The option --entry of subcommands that report on one entry point.

#include <functional>
#include <string>
#include <string_view>

#include "core/program/program.h"

namespace mtfc {

class CommandLine;

/// Adds --entry to the current group: the entry point to `verb`, as in "report"; "" for the usual one, which `usual`
/// describes.
void add_entry_option(CommandLine& line, std::string& entry, const std::string& verb,
                      const std::string& usual = "train if the model has it, else evaluate");

/// `wanted`, or where that is "" train, else evaluate. `has`: whether the model has the entry point of a name.
/// Throws UserError where it hasn't the one that is chosen.
std::string chosen_entry(const std::string& wanted, const std::function<bool(std::string_view)>& has);
/// The entry point of the program that is chosen so.
const EntryPoint& chosen_entry(const std::string& wanted, const Program& program);

}  // namespace mtfc
