#include "cmd/options/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <sstream>
#include <type_traits>

#include "cmd/options/help_layout.h"
#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"

namespace mtfc {

struct ParserNotes {
  struct OfOption {
    std::string value;  // the word for it
    std::vector<std::string> choices;
    std::function<std::vector<std::string>()> proposals;
    std::string hint_if_repeated;
    bool may_be_empty = false;
    bool no_file = false;
  };
  std::map<const CLI::Option*, OfOption> options;
  struct OfCommand {
    std::string description;
    std::string examples;
    std::map<std::string, std::string> hints;  // by the name of an option that the command does not have
    std::function<std::string(const std::string& word)> hint_of_extra;
  };
  std::map<const CLI::App*, OfCommand> commands;
  std::vector<std::string> words;  // of the command line that is parsed
  std::string version;
  size_t width = 80;
};

namespace {

// The first option of `app` for which CLI11 would make this very error. Its errors do not carry the option, and
// its texts may change from version to version.
template <typename MakeError>
const CLI::Option* option_of(const CLI::ParseError& error, const CLI::App& app, MakeError make_error) {
  const std::string text = error.what();
  for (const CLI::Option* option : app.get_options())
    if (text == make_error(*option).what()) return option;
  return nullptr;
}

CLI::ArgumentMismatch value_missing(const CLI::Option& option) {
  return CLI::ArgumentMismatch::TypedAtLeast(option.get_name(), 1, option.get_type_name());
}

CLI::ArgumentMismatch given_again(const CLI::Option& option) {
  return CLI::ArgumentMismatch::AtMost(option.get_name(), 1, option.count());
}

CLI::RequiredError option_missing(const CLI::Option& option) {
  return CLI::RequiredError(option.get_name());
}

std::vector<const CLI::App*> all_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// The command in use, or else the first that has the option `word`; "" where none has it.
std::string command_with(const std::string& word, const CLI::App& app) {
  if (!word.starts_with("-")) return "";
  std::vector<const CLI::App*> commands = all_commands(app);
  const std::vector<CLI::App*> used = app.get_subcommands();
  commands.insert(commands.begin(), used.begin(), used.end());
  for (const CLI::App* command : commands)
    if (command->get_option_no_throw(word.substr(0, word.find('='))) != nullptr) return command->get_name();
  return "";
}

bool is_option(const std::string& word) {
  return word.size() > 1 && word.starts_with("-");
}

// The number that is given with the option `word`, as in `--lr 0.1` and `--lr=0.1`; "" if there is none. It is looked
// for on the whole command line, since an argument of the command may have taken it.
std::string number_given(const std::string& word, const std::vector<std::string>& words) {
  const size_t equals = word.find('=');
  const auto at = std::find(words.begin(), words.end(), word);
  std::string text = equals != std::string::npos                  ? word.substr(equals + 1)
                     : at == words.end() || at + 1 == words.end() ? ""
                                                                  : *(at + 1);
  double number = 0;
  return CLI::detail::lexical_cast(text, number) ? text : "";
}

std::string with_value(std::string hint, const std::string& value) {
  const std::string word = "VALUE";
  const size_t at = hint.find(word);
  return value.empty() || at == std::string::npos ? hint : hint.replace(at, word.size(), value);
}

// Names commands that have the option `name`, as in `the commands run and generate have it`; "" if none has it.
std::string hint_of_other_commands(const std::string& name, const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : all_commands(app))
    if (command->get_option_no_throw(name) != nullptr) names.push_back(command->get_name());
  if (names.empty()) return "";
  if (names.size() == 1) return fmt::format("the command {} has it", names[0]);
  const std::string last = names.size() == 2 ? " and " + names[1]
                           : names.size() == 3
                               ? fmt::format(", {} and {}", names[1], names[2])
                               : fmt::format(", {} and {} others", names[1], names.size() - 2);
  return fmt::format("the commands {}{} have it", names[0], last);
}

UserError unknown_option(const std::string& word, const CLI::App& app, const CLI::App& used,
                         const ParserNotes& notes, const std::string& help) {
  const std::string name = word.substr(0, word.find('='));
  if (const auto command = notes.commands.find(&used); command != notes.commands.end()) {
    const auto& hints = command->second.hints;
    if (const auto hint = hints.find(name); hint != hints.end())
      return UserError(fmt::format("there is no option '{}'", name),
                       with_value(hint->second, number_given(word, notes.words)));
  }
  if (name == "--json" && used.get_option_no_throw("--format") != nullptr)
    return UserError(fmt::format("there is no option '{}'", name), "--format json");
  std::vector<std::string> known;
  for (const CLI::Option* option : used.get_options())
    for (const std::string& long_name : option->get_lnames()) known.push_back("--" + long_name);
  std::string hint = did_you_mean(name, known);
  if (hint.empty()) hint = hint_of_other_commands(name, app);
  return UserError(fmt::format("there is no option '{}'", name), hint.empty() ? help : hint);
}

// The summary of the only command whose summary has that word, as in `mtfc run: train or evaluate a model`; "" for none
// or several.
std::string command_about(const std::string& word, const CLI::App& app) {
  std::string found;
  for (const CLI::App* command : all_commands(app)) {
    const std::string summary = command->get_description(), words = " " + summary + " ";
    if (word.empty() || words.find(" " + word + " ") == std::string::npos) continue;
    if (!found.empty()) return "";
    found = fmt::format("{} {}: {}", app.get_name(), command->get_name(), summary);
  }
  return found;
}

UserError unknown_command(const std::string& word, const CLI::App& app, const std::string& help) {
  std::vector<std::string> known;
  for (const CLI::App* command : all_commands(app)) known.push_back(command->get_name());
  std::string hint = did_you_mean_word(word.substr(0, word.find('=')), known);
  if (hint.empty()) hint = command_about(word, app);
  if (hint.empty() && word.find('.') != std::string::npos)
    hint = fmt::format("a command comes before its file: {} COMMAND {}", app.get_name(), word);
  return UserError(fmt::format("there is no command '{}'", word), hint.empty() ? help : hint);
}

// Returns a hint at what an argument that the command does not take is meant for, or "" if it may be anything.
std::string hint_of_word(const std::string& word, const CLI::App& used, const ParserNotes& notes) {
  if (const auto command = notes.commands.find(&used);
      command != notes.commands.end() && command->second.hint_of_extra)
    if (const std::string hint = command->second.hint_of_extra(word); !hint.empty()) return hint;
  // A layout has a file like the model, or rules, `batch:rows`.
  const bool may_be_layout = used.get_option_no_throw("--layout") != nullptr &&
                             (word.ends_with(".json") || word.find(':') != std::string::npos);
  return may_be_layout ? "a layout is given by an option: --layout " + word : "";
}

UserError unexpected_argument(const std::string& word, const std::string& hint) {
  return UserError(fmt::format("unexpected argument '{}'", word), hint);
}

// Throws UserError where an argument that is no file has taken a word that is meant for one.
void check_taken_words(const CLI::App& used, const ParserNotes& notes) {
  for (const CLI::Option* option : used.get_options()) {
    const auto found = notes.options.find(option);
    if (found == notes.options.end() || !found->second.no_file) continue;
    for (const std::string& word : option->results())
      if (const std::string hint = hint_of_word(word, used, notes); !hint.empty())
        throw unexpected_argument(word, hint);
  }
}

// Blames one of the words that no option and no argument takes.
UserError unexpected_words(const CLI::ParseError& error, const CLI::App& app, const CLI::App& used,
                           const ParserNotes& notes, const std::string& help) {
  for (const std::string& word : app.remaining())
    if (const std::string place = command_with(word, app); !place.empty())
      return UserError(fmt::format("the option '{}' belongs after the command", word),
                       fmt::format("as in {} {} {}", app.get_name(), place, word));
  const std::vector<std::string> words = used.remaining(true);
  // An option that nobody knows leaves its value behind too; the option is to blame.
  if (const auto option = std::find_if(words.begin(), words.end(), is_option); option != words.end())
    return unknown_option(*option, app, used, notes, help);
  if (words.empty()) return UserError(error.what(), help);
  if (&used == &app) return unknown_command(words.front(), app, help);
  check_taken_words(used, notes);
  const std::string hint = hint_of_word(words.front(), used, notes);
  return unexpected_argument(words.front(), hint.empty() ? help : hint);
}

std::string repeated_hint(const CLI::Option& option, const ParserNotes& notes, const std::string& help) {
  const auto found = notes.options.find(&option);
  return found == notes.options.end() || found->second.hint_if_repeated.empty()
             ? help
             : found->second.hint_if_repeated;
}

UserError parse_error(const CLI::ParseError& error, const CLI::App& app, const ParserNotes& notes) {
  const std::vector<CLI::App*> commands = app.get_subcommands();
  const CLI::App& used = commands.empty() ? app : *commands.back();
  const std::string help =
      fmt::format("see {} {}--help", app.get_name(), commands.empty() ? "" : used.get_name() + " ");
  // An option that nobody knows may be the reason why another is missing.
  const std::vector<std::string> extras = used.remaining(true);
  const bool is_missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (dynamic_cast<const CLI::ExtrasError*>(&error) ||
      (is_missing && std::any_of(extras.begin(), extras.end(), is_option)))
    return unexpected_words(error, app, used, notes, help);
  if (const CLI::Option* option = option_of(error, used, value_missing))
    return UserError(fmt::format("{} needs a value, {}", option->get_name(), option->get_type_name()), help);
  if (const CLI::Option* option = option_of(error, used, given_again))
    return UserError(fmt::format("{} is given more than once", option->get_name()),
                     repeated_hint(*option, notes, help));
  if (const CLI::Option* option = option_of(error, used, option_missing))
    return UserError(fmt::format("{} is missing", option->get_name()), help);
  return UserError(error.what(), help);
}

// Help whose lines fit on the terminal: CLI11 leaves long lines to it, which breaks them inside words.
class WrappingFormatter : public CLI::Formatter {
 public:
  explicit WrappingFormatter(size_t width) : width_(width) { column_width(help_column(width)); }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return entry(make_option_name(option, is_positional) + make_option_opts(option),
                 option->get_description());
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return entry(command->get_name(), command->get_description());
  }
  std::string make_description(const CLI::App* app) const override {
    std::string text = CLI::Formatter::make_description(app);
    while (text.ends_with('\n')) text.pop_back();
    return text.empty() ? text : help_words("", text, 0, width_);
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string text = CLI::Formatter::make_usage(app, std::move(name));
    while (text.ends_with('\n')) text.pop_back();
    return help_words("", text, 4, width_);
  }
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    return make_description(app) + make_usage(app, std::move(name)) + make_positionals(app) +
           groups_text(*app) + make_subcommands(app, mode) + "\n" + make_footer(app);
  }
  std::string make_footer(const CLI::App* app) const override {
    return help_commands(app->get_footer(), width_);
  }

  // The groups that the program itself names come before those of option_groups().
  static std::vector<std::string> groups_of(const CLI::App& app) {
    std::vector<std::string> groups = app.get_groups();
    std::stable_sort(groups.begin(), groups.end(),
                     [](const std::string& a, const std::string& b) { return place(a) < place(b); });
    return groups;
  }

 private:
  std::string groups_text(const CLI::App& app) const {
    std::string text;
    for (const std::string& group : groups_of(app)) {
      const auto options = app.get_options(
          [&](const CLI::Option* option) { return option->get_group() == group && option->nonpositional(); });
      if (!options.empty()) text += make_group(group, false, options);
    }
    return text;
  }
  static size_t place(const std::string& group) {
    const std::vector<OptionGroup>& all = option_groups();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](OptionGroup one) { return heading(one) == group; });
    return found == all.end() ? 0 : static_cast<size_t>(found - all.begin()) + 1;
  }
  std::string entry(const std::string& name, const std::string& description) const {
    return help_entry(name, description, get_column_width(), width_);
  }

  size_t width_;
};

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

OptionEntry entry_of(const CLI::Option& option, const ParserNotes& notes) {
  OptionEntry entry;
  entry.is_argument = option.get_positional();
  if (entry.is_argument) entry.names.push_back(option.get_name(true, false));
  for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
  entry.takes_value = takes_value(option);
  entry.is_repeatable = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  entry.is_required = option.get_required();
  entry.default_value = option.get_default_str();
  entry.help = option.get_description();
  entry.group = option.get_group();
  if (const auto found = notes.options.find(&option); found != notes.options.end()) {
    entry.choices = found->second.choices;
    if (found->second.proposals) entry.proposals = found->second.proposals();
    entry.value = found->second.value;
  }
  if (entry.value.empty() && entry.takes_value && !entry.is_argument) entry.value = option.get_type_name();
  find_files(entry);
  return entry;
}

std::vector<OptionEntry> entries_of(const CLI::App& app, const ParserNotes& notes) {
  std::vector<OptionEntry> entries;
  for (const CLI::Option* option :
       app.get_options([](const CLI::Option* one) { return one->get_positional(); }))
    entries.push_back(entry_of(*option, notes));
  for (const std::string& group : WrappingFormatter::groups_of(app))
    for (const CLI::Option* option : app.get_options(
             [&](const CLI::Option* one) { return one->nonpositional() && one->get_group() == group; }))
      entries.push_back(entry_of(*option, notes));
  return entries;
}

const CLI::App& program_of(const CLI::App& app) {
  return app.get_parent() ? *app.get_parent() : app;
}

// CLI11 takes the next argument for the value of `--name=`. As two words, the value is the empty one that it is.
std::vector<std::string> with_empty_values(const std::vector<std::string>& arguments, const CLI::App& app) {
  std::vector<std::string> words;
  const CLI::App* used = &app;
  for (const std::string& word : arguments) {
    if (used == &app)
      for (const CLI::App* command : all_commands(app))
        if (command->check_name(word)) used = command;
    const std::string name = word.substr(0, word.size() - 1);
    const CLI::Option* option =
        word.starts_with("--") && word.ends_with('=') ? used->get_option_no_throw(name) : nullptr;
    words.push_back(option && takes_value(*option) ? name : word);
    if (words.back() != word) words.emplace_back();
  }
  return words;
}

}  // namespace

Option& Option::check(const ValueCheck& check) {
  const std::string shown = check.choices.empty() ? "" : "{" + CLI::detail::join(check.choices, ",") + "}";
  option_->check(
      CLI::Validator([problem = check.problem](std::string& text) { return problem(text); }, shown));
  notes_->options[option_].choices = check.choices;
  return *this;
}

Option& Option::propose(std::function<std::vector<std::string>()> values) {
  notes_->options[option_].proposals = std::move(values);
  return *this;
}

Option& Option::transform(const std::function<std::string(std::string& text)>& rewrite) {
  // An empty value is refused afterwards.
  const auto rewrite_text = [rewrite](std::string& text) { return text.empty() ? "" : rewrite(text); };
  option_->transform(CLI::Validator(rewrite_text, ""));
  return *this;
}

Option& Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::may_be_empty() {
  notes_->options[option_].may_be_empty = true;
  return *this;
}

Option& Option::no_file() {
  notes_->options[option_].no_file = true;
  return *this;
}

Option& Option::split_at(char delimiter) {
  option_->delimiter(delimiter);
  return *this;
}

Option& Option::hint_if_repeated(const std::string& hint) {
  notes_->options[option_].hint_if_repeated = hint;
  return *this;
}

bool Option::is_given() const {
  return option_->count() > 0;
}

template <typename T>
Option CommandLine::add_option(const std::string& name, T& target, const std::string& help) {
  const size_t blank = name.find(' ');
  CLI::Option* option = app_->add_option(name.substr(0, blank), target, help);
  // Arguments after the value are not the option's own.
  if (std::is_same_v<T, std::vector<std::string>> && name.starts_with('-')) option->allow_extra_args(false);
  if (blank != std::string::npos) {
    const std::string word = name.substr(blank + 1);
    option->type_name(word);
    notes_->options[option].value = word;
  }
  return added(option);
}

template Option CommandLine::add_option(const std::string&, std::string&, const std::string&);
template Option CommandLine::add_option(const std::string&, int&, const std::string&);
template Option CommandLine::add_option(const std::string&, int64_t&, const std::string&);
template Option CommandLine::add_option(const std::string&, uint64_t&, const std::string&);
template Option CommandLine::add_option(const std::string&, double&, const std::string&);
template Option CommandLine::add_option(const std::string&, std::optional<std::string>&, const std::string&);
template Option CommandLine::add_option(const std::string&, std::optional<int64_t>&, const std::string&);
template Option CommandLine::add_option(const std::string&, std::optional<double>&, const std::string&);
template Option CommandLine::add_option(const std::string&, std::vector<std::string>&, const std::string&);

void CommandLine::add_flag(const std::string& name, bool& target, const std::string& help) {
  added(app_->add_flag(name, target, help));
}

void CommandLine::add_version_flag(const std::string& text) {
  added(app_->set_version_flag("--version", text));
}

void CommandLine::add_hint(const std::string& name, const std::string& hint) {
  notes_->commands[app_].hints[name] = hint;
}

void CommandLine::set_hint_of_extra(std::function<std::string(const std::string& word)> hint) {
  notes_->commands[app_].hint_of_extra = std::move(hint);
}

void CommandLine::set_description(const std::string& text) {
  notes_->commands[app_].description = text;
}

void CommandLine::set_examples(const std::string& commands) {
  notes_->commands[app_].examples = commands;
  app_->footer("Examples:\n" + commands);
}

Option CommandLine::added(CLI::Option* option) const {
  option->group(heading(group_));
  const auto problem_of = [option, notes = notes_](const std::string& value) {
    return !value.empty() || notes->options[option].may_be_empty
               ? std::string()
               : "the value is empty, as it is where a variable of the shell is not set";
  };
  if (takes_value(*option)) option->check(CLI::Validator(problem_of, ""));
  return {option, notes_};
}

Option CommandLine::option(const std::string& name) const {
  return {app_->get_option(name), notes_};
}

CommandTable CommandLine::table() const {
  const CLI::App& program = program_of(*app_);
  CommandTable table{
      program.get_name(), program.get_description(), notes_->version, entries_of(program, *notes_), {}};
  for (const CLI::App* command : all_commands(program)) {
    const ParserNotes::OfCommand& notes = notes_->commands[command];
    table.commands.push_back({command->get_name(), command->get_description(), notes.description,
                              notes.examples, entries_of(*command, *notes_)});
  }
  return table;
}

std::vector<std::string> CommandLine::command_names() const {
  std::vector<std::string> names;
  for (const CLI::App* command : all_commands(program_of(*app_))) names.push_back(command->get_name());
  return names;
}

std::string CommandLine::help_of(const std::string& command) const {
  const CLI::App& program = program_of(*app_);
  const CLI::App& app = command.empty() ? program : *program.get_subcommand(command);
  const std::string name = command.empty() ? program.get_name() : program.get_name() + " " + command;
  return app.get_formatter()->make_help(&app, name, CLI::AppFormatMode::Normal);
}

size_t CommandLine::help_width() const {
  return notes_->width;
}

std::vector<std::string> CommandLine::given(const std::vector<std::string>& without) const {
  std::vector<std::string> words;
  std::map<const CLI::Option*, size_t> seen;  // how often the option has been given so far
  for (const CLI::Option* option : app_->parse_order()) {
    const std::string name = option->get_name();
    const size_t before = seen[option]++;
    // All values of a list are given at once.
    const char delimiter = option->get_delimiter();
    if (std::find(without.begin(), without.end(), name) != without.end() || (delimiter != '\0' && before > 0))
      continue;
    if (!option->get_positional()) words.push_back(name);
    if (delimiter != '\0')
      words.push_back(CLI::detail::join(option->results(), std::string(1, delimiter)));
    else if (takes_value(*option))
      words.push_back(option->results().at(before));
  }
  return words;
}

CommandParser::CommandParser(const std::string& program, const std::string& description,
                             const std::string& version)
    : app_(std::make_unique<CLI::App>(description)), notes_(std::make_unique<ParserNotes>()) {
  app_->name(program);
  app_->set_version_flag("--version", version);
  app_->require_subcommand(0, 1);
  notes_->version = version;
}

CommandParser::~CommandParser() = default;

CommandLine CommandParser::add_command(const std::string& name, const std::string& summary) {
  CLI::App* command = app_->add_subcommand(name, summary);
  command->get_help_ptr()->group(heading(OptionGroup::kGeneral));
  return {command, notes_.get()};
}

Request CommandParser::parse(std::vector<std::string> arguments) {
  notes_->words = arguments;
  arguments = with_empty_values(arguments, *app_);
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  try {
    app_->parse(std::move(arguments));
  } catch (const CLI::Success& success) {
    std::ostringstream answer;
    app_->exit(success, answer, answer);
    return {"", answer.str()};
  } catch (const CLI::ParseError& error) {
    throw parse_error(error, *app_, *notes_);
  }
  const std::vector<CLI::App*> used = app_->get_subcommands();
  if (!used.empty()) check_taken_words(*used.front(), *notes_);
  return {used.empty() ? "" : used.front()->get_name(), std::nullopt};
}

void CommandParser::set_width(int width) {
  notes_->width = static_cast<size_t>(std::max(width, 40));
  const auto formatter = std::make_shared<WrappingFormatter>(notes_->width);
  app_->formatter(formatter);
  for (CLI::App* command : app_->get_subcommands([](CLI::App*) { return true; }))
    command->formatter(formatter);
}

void CommandParser::set_footer(const std::string& text) {
  app_->footer(text);
}

std::string CommandParser::help() const {
  return app_->help();
}

}  // namespace mtfc
