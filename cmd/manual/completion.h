#pragma once
// Scripts with which shells complete command lines, made of the table of commands: its commands, options, values that
// are known, and files. They need nothing but the shell.

#include <string>

#include "cmd/options/command_table.h"

namespace mtfc {

std::string bash_completion(const CommandTable& table);
std::string zsh_completion(const CommandTable& table);
std::string fish_completion(const CommandTable& table);

/// A part of a script that is the same for every program, with the program's name in the place of each %P.
std::string framed(std::string text, const std::string& program);
/// `text` between single quotes, as a word of bash and zsh.
std::string quoted_word(const std::string& text);
/// The values that may be proposed for an option: its choices or its proposals. Those that would need quotes in a shell
/// are left out.
std::vector<std::string> known_values(const OptionEntry& option);

}  // namespace mtfc
