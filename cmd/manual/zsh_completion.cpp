#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cmd/manual/completion.h"

namespace mtfc {
namespace {

// %P stands for the name of the program. The first function completes the file in NAME=FILE and in NAME=idx:FILE; the
// second completes words or files.
constexpr const char* kZshFrame = R"zsh(
_%P_files() {
  if [[ -prefix *= ]]; then
    compset -P '*='
    compset -P '[a-z]##:'
  fi
  _files "$@"
}

# The first argument is the pattern of the files.
_%P_words_or_files() {
  local ret=1 pattern=$1
  shift
  compadd -- "$@" && ret=0
  _path_files -g "$pattern" && ret=0
  _path_files -/ && ret=0
  return ret
}

_%P() {
  setopt localoptions extendedglob
  local curcontext=$curcontext state state_descr line ret=1
  typeset -A opt_args
)zsh";

constexpr const char* kZshEnd = R"zsh(
if [[ $funcstack[1] == _%P ]]; then
  _%P "$@"
else
  compdef _%P %P
fi
)zsh";

// A backslash before each of `marks`, which end a field of a specification.
std::string zsh_escaped(const std::string& text, const std::string& marks) {
  std::string made;
  for (const char letter : text) {
    if (letter == '\\' || marks.find(letter) != std::string::npos) made += '\\';
    made += letter;
  }
  return made;
}

// Returns the action of zsh that completes a value.
std::string zsh_action(const std::string& program, const OptionEntry& option) {
  const std::string words = fmt::format("{}", fmt::join(known_values(option), " "));
  if (!words.empty() && option.files == OptionEntry::Files::kNone) return fmt::format("({})", words);
  if (!words.empty()) return fmt::format(" _{}_words_or_files \"*{}(-.)\" {}", program, option.ending, words);
  switch (option.files) {
    case OptionEntry::Files::kNone:
      return " ";
    case OptionEntry::Files::kFolders:
      return "_files -/";
    case OptionEntry::Files::kAll:
      return fmt::format("_{}_files", program);
    case OptionEntry::Files::kEnding:
      return fmt::format("_{}_files -g \"*{}(-.)\"", program, option.ending);
  }
  return " ";
}

// The specifications of an option for _arguments, one for each of its names.
std::string zsh_option(const std::string& program, const OptionEntry& option) {
  std::string lines;
  for (const std::string& name : option.names) {
    std::string spec;
    if (option.is_repeatable)
      spec = "*";
    else if (option.names.size() > 1)
      spec = fmt::format("({})", fmt::join(option.names, " "));
    spec += name;
    if (option.takes_value) spec += name.starts_with("--") ? "=" : "+";
    spec += fmt::format("[{}]", zsh_escaped(brief(option.help), "[]"));
    if (option.takes_value)
      spec += fmt::format(":{}:{}", zsh_escaped(option.value, ":"), zsh_action(program, option));
    lines += " \\\n            " + quoted_word(spec);
  }
  return lines;
}

std::string zsh_arguments(const std::string& program, const std::vector<OptionEntry>& options) {
  std::string lines;
  int count = 0;
  for (const OptionEntry& option : options)
    lines += option.is_argument
                 ? " \\\n            " +
                       quoted_word(fmt::format("{}:{}{}:{}", ++count, option.is_required ? "" : ":",
                                               zsh_escaped(option.names.front(), ":"),
                                               zsh_action(program, option)))
                 : zsh_option(program, option);
  return lines;
}

}  // namespace

std::string zsh_completion(const CommandTable& table) {
  const std::string& program = table.program;
  std::string text =
      fmt::format("#compdef {0}\n# Completion of {0} for zsh, made by `{0} completion zsh` of {1}.\n",
                  program, table.version) +
      framed(kZshFrame, program);
  text += "  _arguments -C";
  for (const OptionEntry& option : table.options) text += zsh_option(program, option);
  text +=
      " \\\n            '1: :->command' '*:: :->words' && ret=0\n  case $state in\n    command)\n"
      "      local -a commands=(";
  for (const CommandEntry& command : table.commands)
    text += "\n        " + quoted_word(command.name + ":" + zsh_escaped(command.summary, ""));
  text +=
      "\n      )\n      _describe -t commands command commands && ret=0\n      ;;\n    words)\n"
      "      case $words[1] in\n";
  for (const CommandEntry& command : table.commands)
    text += fmt::format("        {})\n          _arguments -s -S", command.name) +
            zsh_arguments(program, command.options) + " && ret=0\n          ;;\n";
  return text + "      esac\n      ;;\n  esac\n  return ret\n}\n" + framed(kZshEnd, program);
}

}  // namespace mtfc
