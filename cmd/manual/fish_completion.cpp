#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cmd/manual/completion.h"

namespace mtfc {
namespace {

// %P stands for the name of the program. Both functions look at the words before the cursor.
constexpr const char* kFishFrame = R"fish(
function __%P_has_no_command
    set -l words (commandline -opc)
    not string match -qv -- '-*' $words[2..]
end

function __%P_runs
    set -l words (commandline -opc)
    set -l commands (string match -v -- '-*' $words[2..])
    test (count $commands) -gt 0; and test $commands[1] = $argv[1]
end

# The files with an ending, and the folders.
function __%P_files
    set -l word (commandline -ct | string replace -r '^--[^=]*=' '')
    for path in (__fish_complete_path $word)
        string match -qr '(/|'(string escape --style=regex -- $argv[1])')(\\t|$)' -- $path; and echo $path
    end
end

complete -c %P -f
)fish";

std::string fish_word(const std::string& text) {
  std::string word = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') word += '\\';
    word += letter;
  }
  return word + "'";
}

std::string fish_option(const std::string& program, const std::string& beginning, const OptionEntry& option) {
  const std::string values = fmt::format("{}", fmt::join(known_values(option), " "));
  std::string line = beginning;
  for (const std::string& name : option.names)
    if (!option.is_argument)
      line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  const bool is_word_or_file = !values.empty() && option.files == OptionEntry::Files::kEnding;
  const bool has_files = option.files != OptionEntry::Files::kNone && !is_word_or_file;
  if (option.is_argument && !has_files && values.empty()) return "";
  if (option.is_argument && has_files) line += " -F";
  if (option.takes_value && !option.is_argument) line += has_files ? " -r -F" : " -x";
  const std::string files = is_word_or_file ? fmt::format(" (__{}_files {})", program, option.ending) : "";
  if (!values.empty()) line += " -a " + fish_word(values + files);
  return line + " -d " + fish_word(brief(option.help)) + "\n";
}

}  // namespace

std::string fish_completion(const CommandTable& table) {
  const std::string& program = table.program;
  std::string text = fmt::format("# Completion of {0} for fish, made by `{0} completion fish` of {1}.\n",
                                 program, table.version) +
                     framed(kFishFrame, program);
  const std::string none = fmt::format("complete -c {0} -n __{0}_has_no_command", program);
  for (const OptionEntry& option : table.options) text += fish_option(program, none, option);
  for (const CommandEntry& command : table.commands)
    text += fmt::format("{} -a {} -d {}\n", none, command.name, fish_word(command.summary));
  for (const CommandEntry& command : table.commands) {
    const std::string beginning = fmt::format("complete -c {0} -n '__{0}_runs {1}'", program, command.name);
    text += "\n";
    for (const OptionEntry& option : command.options) text += fish_option(program, beginning, option);
  }
  return text;
}

}  // namespace mtfc
