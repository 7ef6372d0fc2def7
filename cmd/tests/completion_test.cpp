// The completion scripts, loaded into the shells that they are for.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/skip.h"

namespace mtfc::completion_test {
namespace {

using Words = std::vector<std::string>;

bool is_installed(const std::string& program) {
  return outcome_of(fmt::format("command -v {}", program)).code == 0;
}

Words sorted_lines(const std::string& text) {
  std::istringstream stream(text);
  Words lines;
  for (std::string line; std::getline(stream, line);)
    if (!line.empty()) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

// A folder with files to complete, and the script of a shell.
class Place {
 public:
  explicit Place(const std::string& shell) {
    CHECK(outcome_of(fmt::format("'{}' completion {} -o '{}'", kTestedProgram, shell, script())).code == 0);
    std::filesystem::create_directory(folder_.path / "here");
    std::filesystem::create_directory(folder_.path / "here/saved");
    for (const char* name : {"model.json", "my model.json", "data.npy", "digits.gz", "names.map"})
      folder_.write(std::string("here/") + name, "");
  }

  std::string script() const { return folder_ / "script"; }
  Outcome in_folder(const std::string& shell, const std::string& program) const {
    folder_.write("program", program);
    return outcome_of(
        fmt::format("cd '{}' && {} '{}' 2>&1 </dev/null", folder_ / "here", shell, folder_ / "program"));
  }

 private:
  ScratchFolder folder_;
};

// Returns the proposals of bash for the last of the words of a command line, as bash cuts it.
Words in_bash(const Words& words, const std::string& breaks = "' \t\n\"'\"'\"'><=;|&(:'") {
  const Place place("bash");
  std::string line;
  for (const std::string& word : words) line += fmt::format(" '{}'", word);
  const auto [code, text] = place.in_folder(
      "bash", fmt::format("source '{}'\nCOMP_WORDBREAKS={}\nCOMP_WORDS=(mtfc{})\nCOMP_CWORD={}\n_mtfc\n"
                          "printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
                          place.script(), breaks, line, words.size()));
  CHECK(code == 0);
  return sorted_lines(text);
}

Words in_fish(const std::string& line) {
  const Place place("fish");
  const auto [code, text] = place.in_folder(
      "fish --no-config", fmt::format("source '{}'\ncomplete -C '{}'\n", place.script(), line));
  CHECK(code == 0);
  // A description stands after a tab.
  return sorted_lines(std::regex_replace(text, std::regex("\t.*"), ""));
}

// Returns the words that zsh inserts or lists for a tab at the end of the line, in a pseudo-terminal.
Words in_zsh(const std::string& line) {
  const Place place("zsh");
  const std::string program = fmt::format(R"(zmodload zsh/zpty
zpty z "PS1= zsh -f -i"
zpty -w z 'PS1= PROMPT_SP= LISTMAX=9999 COLUMNS=200; stty -echo; unsetopt zle_bracketed_paste; autoload -Uz compinit && compinit -u -D && source {0}'
zpty -w z 'compadd() {{ if [[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return $?; fi
  typeset -a found; builtin compadd -A found "$@"; for word in $found; do print -r -- "found:$IPREFIX$word" >>{0}.found; done; builtin compadd "$@" }}'
zpty -w z 'answer() {{ zle complete-word; print done: >>{0}.found }}; zle -N answer; bindkey "^I" answer'
zpty -w z 'print "ready:" >{0}.found'
until [[ -s {0}.found ]]; do sleep 0.05; done
zpty -w -n z '{1}'$'\t'
until grep -q done: {0}.found; do sleep 0.05; done
zpty -d z
sed -n 's/^found://p' {0}.found
)",
                                          place.script(), line);
  const auto [code, text] = place.in_folder("zsh -f", program);
  CHECK(code == 0);
  return sorted_lines(text);
}

// The long names in the help of a command, such as both of `--format,--emit`.
Words options_in_help(const std::string& command) {
  const std::string help = outcome_of(fmt::format("'{}' {} --help", kTestedProgram, command)).text;
  const std::regex option("\n  (?:-[a-z],)?(--[a-z-]+)(?:,(--[a-z-]+))?");
  Words names;
  for (std::sregex_iterator at(help.begin(), help.end(), option), end; at != end; ++at)
    for (const size_t name : {1, 2})
      if ((*at)[name].matched) names.push_back((*at)[name].str());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("bash completes commands, options and values") {
  CHECK(in_bash({"ch"}) == Words{"check"});
  CHECK(in_bash({"co"}) == Words{"compile", "completion", "cost-report"});
  CHECK(in_bash({"--ver"}) == Words{"--version"});
  CHECK(in_bash({"check", "m.json", "--form"}) == Words{"--format"});
  CHECK(in_bash({"check", "m.json", "--format", ""}) == Words{"json", "text"});
  CHECK(in_bash({"check", "m.json", "--format", "=", "j"}) == Words{"json"});
  CHECK(in_bash({"check", "m.json", "--format", "="}) == Words{"json", "text"});
  // Readline replaces the whole word where it does not cut at =.
  CHECK(in_bash({"check", "m.json", "--format=j"}, "' \t\n'") == Words{"--format=json"});
  CHECK(in_bash({"cost-report", "m.json", "--hardware", "tpu"}) == Words{"tpu-v2", "tpu-v3"});
  CHECK(in_bash({"cost-report", "m.json", "--hardware", "=", "tpu"}) == Words{"tpu-v2", "tpu-v3"});
  CHECK(in_bash({"cost-report", "m.json", "--hardware", "m"}) == Words{"model.json", "my model.json"});
  CHECK(in_bash({"cost-report", "m.json", "--hardware", "d"}).empty());
  CHECK(in_bash({"schema", "s"}) == Words{"search", "show"});
  CHECK(in_bash({"completion", "f"}) == Words{"fish"});
  CHECK(in_bash({"ops", "reduce_m"}) == Words{"reduce_max", "reduce_mean", "reduce_min"});
  CHECK(in_bash({"help", "exi"}) == Words{"exit-codes"});
  CHECK(in_bash({"nonsense", "x"}).empty());
}

TEST_CASE("bash proposes an option again only if it may be repeated") {
  CHECK(in_bash({"run", "m.json", "--steps", "3", "--step"}).empty());
  CHECK(in_bash({"run", "m.json", "--steps", "=", "3", "--step"}).empty());
  CHECK(in_bash({"run", "m.json", "--input", "x", "=", "f.npy", "--inp"}) == Words{"--input"});
  // The value of an option is no option.
  CHECK(in_bash({"run", "m.json", "--load", "--steps", "--step"}) == Words{"--steps"});
}

TEST_CASE("bash completes files") {
  CHECK(in_bash({"run", ""}) == Words{"model.json", "my model.json", "saved"});
  CHECK(in_bash({"run", "model.json", "--input", "images", "=", "da"}) == Words{"data.npy"});
  CHECK(in_bash({"run", "model.json", "--input", "images", "=", "idx", ":", "di"}) == Words{"digits.gz"});
  CHECK(in_bash({"run", "model.json", "--input=images=idx:di"}, "' \t\n'") ==
        Words{"--input=images=idx:digits.gz"});
  CHECK(in_bash({"run", "model.json", "--checkpoint", ""}) == Words{"saved"});
  CHECK(in_bash({"run", "model.json", "--map", "na"}) == Words{"names.map"});
  // There are no arguments after the model, so these are options.
  const Words after = in_bash({"verify", "model.json", ""});
  CHECK(std::count(after.begin(), after.end(), "--mesh") == 1);
  CHECK(std::count(after.begin(), after.end(), "model.json") == 0);
}

TEST_CASE("bash knows every option that help lists") {
  CHECK(
      outcome_of(fmt::format("bash -c 'source <(\"{}\" completion bash); complete -p mtfc'", kTestedProgram))
          .text == "complete -F _mtfc mtfc\n");
  for (const char* command :
       {"calibrate", "check", "compile", "cost-report", "generate", "predict", "run", "search", "slurm"}) {
    CAPTURE(command);
    const Words listed = options_in_help(command);
    CHECK(listed.size() >= 8);
    CHECK(in_bash({command, "--"}) == listed);
  }
}

TEST_CASE("fish completes commands, options, values and files") {
  if (!is_installed("fish")) return skip_without("fish", "its completion is not tested");
  CHECK(in_fish("mtfc ch") == Words{"check"});
  CHECK(in_fish("mtfc check m.json --form") == Words{"--format"});
  CHECK(in_fish("mtfc check m.json --format ") == Words{"json", "text"});
  CHECK(in_fish("mtfc check m.json --format=") == Words{"--format=json", "--format=text"});
  CHECK(in_fish("mtfc schema s") == Words{"search", "show"});
  CHECK(in_fish("mtfc cost-report m.json --hardware tpu") == Words{"tpu-v2", "tpu-v3"});
  CHECK(in_fish("mtfc cost-report m.json --hardware mod") == Words{"model.json"});
  CHECK(in_fish("mtfc cost-report m.json --hardware=mod") == Words{"--hardware=model.json"});
  CHECK(in_fish("mtfc cost-report m.json --hardware sa") == Words{"saved/"});
  CHECK(in_fish("mtfc cost-report m.json --hardware da").empty());
  CHECK(in_fish("mtfc run mod") == Words{"model.json"});
  CHECK(in_fish("mtfc run m.json --input images=da") == Words{"images=data.npy"});
  const Words listed = in_fish("mtfc run m.json --");
  for (const std::string& option : options_in_help("run")) {
    CAPTURE(option);
    CHECK(std::count(listed.begin(), listed.end(), option) == 1);
  }
}

TEST_CASE("zsh completes commands, options, values and files") {
  if (!is_installed("zsh")) return skip_without("zsh", "its completion is not tested");
  CHECK(in_zsh("mtfc ch") == Words{"check"});
  CHECK(in_zsh("mtfc check m.json --format ") == Words{"json", "text"});
  CHECK(in_zsh("mtfc schema la") == Words{"layout"});
  CHECK(in_zsh("mtfc run mod") == Words{"model.json"});
  CHECK(in_zsh("mtfc check m.json --form") == Words{"--format"});
  CHECK(in_zsh("mtfc cost-report m.json --hardware tpu") == Words{"tpu-v2", "tpu-v3"});
  CHECK(in_zsh("mtfc cost-report m.json --hardware mod") == Words{"model.json"});
  CHECK(in_zsh("mtfc cost-report m.json --hardware da").empty());
  CHECK(in_zsh("mtfc run m.json --map na") == Words{"names.map"});
  CHECK(in_zsh("mtfc run m.json --input images=idx:di") == Words{"images=idx:digits.gz"});
}

}  // namespace mtfc::completion_test
