#pragma once
// The commands of a program, their options, and the errors of a command line that does not fit them. CLI11 does
// the parsing; its header costs seconds of every file that includes it, so that only command_line.cpp does.
//
//   CommandParser parser("mtfc", "compiles and runs tensor programs", "mtfc 0.1.0");
//   CommandLine run = parser.add_command("run", "execute a model");
//   run.add_option("--steps N", steps, "training steps").check(whole_number(0));
//   parser.parse({"run", "--steps", "3"});  // steps == 3, and the result names the command: "run"
//
// The parser fills the variables that the options were added with, so they must outlive parse().

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/options/command_table.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace mtfc {

/// A condition on the text of a value.
struct ValueCheck {
  /// Says what is wrong with the text; "" where it is right.
  std::function<std::string(const std::string& text)> problem;
  /// All values, if they are few: shown by --help behind the type, as in {text,json,dot}.
  std::vector<std::string> choices = {};
};

struct ParserNotes;  // what a parser knows beyond what CLI11 keeps

/// An option of a CommandLine, to describe it further; a handle, valid as long as the parser.
class Option {
 public:
  Option(CLI::Option* option, ParserNotes* notes) : option_(option), notes_(notes) {}

  Option& check(const ValueCheck& check);
  /// Values that completion proposes; others are as right.
  Option& propose(std::function<std::vector<std::string>()> values);
  /// `rewrite` replaces the text of a value by the text to store, and returns what is wrong with it, or "".
  Option& transform(const std::function<std::string(std::string& text)>& rewrite);
  /// --help shows the value that the variable has now.
  Option& show_default();
  Option& required();
  /// An empty value is right, as it is of a layout that splits nothing. For any other option, it is an error.
  Option& may_be_empty();
  /// The value of this argument is neither a file nor a rule of a layout. Such a word is an error, as one that the
  /// command does not take.
  Option& no_file();
  /// One text is a list of values, as in batch,hidden.
  Option& split_at(char delimiter);
  /// Sets the hint of the error that the option is given more than once.
  Option& hint_if_repeated(const std::string& hint);

  /// True once a command line has been parsed that has the option.
  bool is_given() const;

 private:
  CLI::Option* option_;
  ParserNotes* notes_;
};

/// The options of one command; a handle, valid as long as the parser. A name is either `--long`, `-s`, both as in
/// `--quiet,-q`, or `WORD` for an argument without a name. A blank and the word for the value in --help and in errors
/// may follow, as in `--steps N`. Each takes one value and may be given once; a vector takes one value each time that
/// its option is given, or all arguments if it has no name. An empty value is an error, since it is that of an unset
/// variable in a script.
class CommandLine {
 public:
  CommandLine(CLI::App* app, ParserNotes* notes) : app_(app), notes_(notes) {}

  /// The group of the options that are added to this handle from here on; kGeneral at first.
  void set_group(OptionGroup group) { group_ = group; }
  /// `T` is a text, a number, an optional one of either, or a vector of texts.
  template <typename T>
  Option add_option(const std::string& name, T& target, const std::string& help);
  void add_flag(const std::string& name, bool& target, const std::string& help);
  /// --version, which answers with `text`.
  void add_version_flag(const std::string& text);
  /// Sets the hint of the error that there is no option `name`, which users know from other programs, as in --lr. If
  /// the user gives it with a number, this number takes the place of VALUE in the hint.
  void add_hint(const std::string& name, const std::string& hint);
  /// Sets what says which hint an argument deserves that the command does not take; "" for the general one.
  void set_hint_of_extra(std::function<std::string(const std::string& word)> hint);
  /// Sentences for the man page that say what the command does.
  void set_description(const std::string& text);
  /// Lines of commands, which --help shows below the options.
  void set_examples(const std::string& commands);

  /// The option that has been added under `name`.
  Option option(const std::string& name) const;

  /// Once a command line has been parsed: the words of all that it gives, in its order, as in {"model.json", "--steps",
  /// "3", "--quiet"}. Leaves out the options that `without` names. Options that are rewritten (transform) have their
  /// new text.
  std::vector<std::string> given(const std::vector<std::string>& without = {}) const;

  /// The commands of the whole program with their options; those of each are complete once all have been added.
  CommandTable table() const;
  /// The names of the program's commands.
  std::vector<std::string> command_names() const;
  /// The help of a command of the program, or of the program itself for "".
  std::string help_of(const std::string& command) const;
  /// The width that CommandParser::set_width has set.
  size_t help_width() const;

 private:
  Option added(CLI::Option* option) const;

  CLI::App* app_;
  ParserNotes* notes_;
  OptionGroup group_ = OptionGroup::kGeneral;
};

/// A parsed command line: the command to run, or the answer to give instead.
struct Request {
  std::string command;                // "" where none is named, and with an answer
  std::optional<std::string> answer;  // the text that --help or --version asks for
};

/// A program with commands, of which a command line names one at most.
class CommandParser {
 public:
  CommandParser(const std::string& program, const std::string& description, const std::string& version);
  ~CommandParser();

  CommandLine add_command(const std::string& name, const std::string& summary);
  /// Fills the variables of the options. Throws UserError for a command line that does not fit the options.
  Request parse(std::vector<std::string> arguments);
  /// The help of the program, with the list of its commands.
  std::string help() const;
  /// The longest line of help, 80 by default (help_layout.h).
  void set_width(int width);
  /// The text below the list of commands, in lines that fit.
  void set_footer(const std::string& text);

 private:
  std::unique_ptr<CLI::App> app_;
  std::unique_ptr<ParserNotes> notes_;
};

}  // namespace mtfc
