#include "cmd/manual/completion.h"

#include <memory>

#include "cmd/command.h"
#include "cmd/files/files.h"
#include "cmd/options/command_line.h"
#include "cmd/options/option_checks.h"
#include "cmd/options/text_output.h"
#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

struct Options {
  std::string shell;
  std::string file = "-";
};

std::string script(const std::string& shell, const CommandTable& table) {
  if (shell == "bash") return bash_completion(table);
  return shell == "zsh" ? zsh_completion(table) : fish_completion(table);
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<Options>();
  line.add_option("SHELL", options->shell, "the shell").check(one_of({"bash", "zsh", "fish"})).required();
  add_output_file(line, options->file);
  return [options, line] {
    write_text(options->file, script(options->shell, line.table()));
    return static_cast<int>(kExitSuccess);
  };
}

}  // namespace

const Command kCompletionCommand = {
    .name = "completion",
    .summary = "print a script with which bash, zsh or fish complete command lines of mtfc",
    .description =
        "The script completes commands, their options, the values of options that have a fixed list of them, "
        "the names of bundled hardware profiles, and files. An installed mtfc has these scripts where the "
        "shells look for them, so that nothing else need be done.",
    .examples =
        "  source <(mtfc completion bash)  # or in ~/.bashrc\n"
        "  mtfc completion zsh -o ~/.zfunc/_mtfc  # in a folder of fpath\n"
        "  mtfc completion fish | source  # or in ~/.config/fish/config.fish",
    .setup = setup,
};

}  // namespace mtfc
