#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "cmd/manual/completion.h"

namespace mtfc {
namespace {

// The part of the script that is the same for every program: %P stands for its name. It works on the words up to the
// cursor, and knows of a command only what the functions before it say.
constexpr const char* kBashFrame = R"bash(
_%P() {
  local -a line=()
  local word i joined=
  # Bash cuts words at = and :, which are parts of a word here.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $word =~ ^[=:]+$ && $i -gt 1 ]]; then
      line[-1]+=$word joined=1
    elif [[ -n $joined ]]; then
      line[-1]+=$word joined=
    else
      line+=("$word")
    fi
  done

  local cursor=${line[-1]} command= option= argument=0 given=' '
  for ((i = 1; i < ${#line[@]} - 1; i++)); do
    word=${line[i]}
    if [[ -n $option ]]; then
      option=  # the word is its value
    elif [[ $word == --*=* ]]; then
      given+="${word%%=*} "
    elif [[ $word == -* ]]; then
      given+="$word "
      ! _%P_value "$command" "$word" || option=$word
    elif [[ -z $command ]]; then
      command=$word
    else
      argument=$((argument + 1))
    fi
  done

  local words= files= options= repeatable= value=$cursor head=
  if [[ -n $option ]]; then
    _%P_value "$command" "$option"
  elif [[ $cursor == --*=* ]]; then
    head=${cursor%%=*}= value=${cursor#*=}
    _%P_value "$command" "${cursor%%=*}"
  elif [[ -z $command && $cursor != -* ]]; then
    words=$_%P_commands
  else
    [[ $cursor == -* ]] || _%P_value "$command" "$((argument + 1))"
    if [[ -z $words$files ]]; then
      _%P_options "$command"
      for word in $options; do
        [[ $given == *" $word "* && " $repeatable " != *" $word "* ]] || words+="$word "
      done
    fi
  fi

  local -a found=() paths=()
  [[ -z $words ]] || mapfile -t found < <(compgen -W "$words" -- "$value")
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    local start= path=${value#[\"\']}
    # The file in NAME=FILE and in NAME=idx:FILE.
    [[ $path != *=* ]] || start=${path%%=*}=
    path=${path#"$start"}
    if [[ -n $start && $path =~ ^[a-z]+: ]]; then start+=${BASH_REMATCH[0]}; fi
    path=${value#[\"\']} path=${path#"$start"} path=${path//\\/}
    if [[ $files == / ]]; then
      mapfile -t paths < <(compgen -d -- "$path")
    else
      mapfile -t paths < <(compgen -f -X "!$files" -- "$path"; [[ $files == '*' ]] || compgen -d -- "$path")
      [[ ${#paths[@]} -gt 0 || -n $words ]] || mapfile -t paths < <(compgen -f -- "$path")  # with another ending
    fi
    found+=("${paths[@]/#/"$start"}")
  fi

  # Bash replaces what follows the last character at which it cuts words.
  local rest=$cursor cut=
  while [[ $rest == *[=:]* ]]; do
    word=${rest%%[=:]*}
    rest=${rest:${#word}}
    [[ $COMP_WORDBREAKS != *"${rest:0:1}"* ]] || cut=${cursor:0:${#cursor}-${#rest}+1}
    rest=${rest:1}
  done
  COMPREPLY=("${found[@]/#/"$head"}")
  COMPREPLY=("${COMPREPLY[@]#"$cut"}")
}

complete -F _%P %P
)bash";

std::string bash_files(const OptionEntry& option) {
  switch (option.files) {
    case OptionEntry::Files::kNone:
      return "";
    case OptionEntry::Files::kFolders:
      return "/";
    case OptionEntry::Files::kAll:
      return "*";
    case OptionEntry::Files::kEnding:
      return "*" + option.ending;
  }
  return "";
}

// The rows of the options that take values, and of the arguments, which have numbers in place of names.
std::string bash_values(const std::string& command, const std::vector<OptionEntry>& options) {
  std::string rows;
  int arguments = 0;
  for (const OptionEntry& option : options) {
    if (!option.takes_value) continue;
    std::string patterns;
    if (option.is_argument) patterns = quoted_word(fmt::format("{} {}", command, ++arguments));
    for (const std::string& name : option.names)
      if (!option.is_argument)
        patterns += (patterns.empty() ? "" : " | ") + quoted_word(fmt::format("{} {}", command, name));
    const std::string words = fmt::format("{}", fmt::join(known_values(option), " ")),
                      files = bash_files(option);
    rows += fmt::format("    {})", patterns);
    if (!words.empty()) rows += " words=" + quoted_word(words);
    if (!files.empty()) rows += " files=" + quoted_word(files);
    rows += " ;;\n";
  }
  return rows;
}

std::string bash_options(const std::string& command, const std::vector<OptionEntry>& options) {
  std::string all, repeatable;
  for (const OptionEntry& option : options) {
    if (option.is_argument) continue;
    for (const std::string& name : option.names) all += (all.empty() ? "" : " ") + name;
    if (option.is_repeatable)
      for (const std::string& name : option.names) repeatable += (repeatable.empty() ? "" : " ") + name;
  }
  std::string row = fmt::format("    {}) options={}", quoted_word(command), quoted_word(all));
  if (!repeatable.empty()) row += " repeatable=" + quoted_word(repeatable);
  return row + " ;;\n";
}

}  // namespace

std::string framed(std::string text, const std::string& program) {
  for (size_t at = 0; (at = text.find("%P", at)) != std::string::npos;) text.replace(at, 2, program);
  return text;
}

std::string quoted_word(const std::string& text) {
  std::string word = "'";
  for (const char letter : text) word += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return word + "'";
}

std::vector<std::string> known_values(const OptionEntry& option) {
  std::vector<std::string> values = option.choices.empty() ? option.proposals : option.choices;
  std::erase_if(values, [](const std::string& value) {
    return value.empty() || !std::all_of(value.begin(), value.end(), [](unsigned char letter) {
             return letter < 0x80 &&
                    (std::isalnum(letter) ||
                     std::string("._+-").find(static_cast<char>(letter)) != std::string::npos);
           });
  });
  return values;
}

std::string bash_completion(const CommandTable& table) {
  std::string names, values = bash_values("", table.options), options = bash_options("", table.options);
  for (const CommandEntry& command : table.commands) {
    names += (names.empty() ? "" : " ") + command.name;
    values += bash_values(command.name, command.options);
    options += bash_options(command.name, command.options);
  }
  const std::string& program = table.program;
  return fmt::format("# Completion of {0} for bash, made by `{0} completion bash` of {1}.\n\n", program,
                     table.version) +
         fmt::format("_{}_commands={}\n\n", program, quoted_word(names)) +
         fmt::format(
             "# Sets `words` and `files` to what may follow option $2 of command $1, or be its argument "
             "number $2.\n"
             "# Fails if that takes no value.\n_{}_value() {{\n  case \"$1 $2\" in\n",
             program) +
         values + "    *) return 1 ;;\n  esac\n}\n\n" +
         fmt::format(
             "# Sets `options` to those of command $1, and `repeatable` to those that may be given again.\n"
             "_{}_options() {{\n  case $1 in\n",
             program) +
         options + "  esac\n}\n" + framed(kBashFrame, program);
}

}  // namespace mtfc
