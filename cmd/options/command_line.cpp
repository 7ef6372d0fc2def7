#include "cmd/options/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"

namespace mtfc {
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

UserError unknown_option(const std::string& word, const CLI::App& used, const std::string& help) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : used.get_options())
    for (const std::string& long_name : option->get_lnames()) known.push_back("--" + long_name);
  const std::string near = did_you_mean(name, known);
  return UserError(fmt::format("there is no option '{}'", name), near.empty() ? help : near);
}

UserError unknown_command(const std::string& word, const CLI::App& app, const std::string& help) {
  std::vector<std::string> known;
  for (const CLI::App* command : all_commands(app)) known.push_back(command->get_name());
  const std::string near = did_you_mean(word.substr(0, word.find('=')), known);
  return UserError(fmt::format("there is no command '{}'", word), near.empty() ? help : near);
}

// Blames one of the words that no option and no argument takes.
UserError unexpected_words(const CLI::ParseError& error, const CLI::App& app, const CLI::App& used,
                           const std::string& help) {
  for (const std::string& word : app.remaining())
    if (const std::string place = command_with(word, app); !place.empty())
      return UserError(fmt::format("the option '{}' belongs after the command", word),
                       fmt::format("as in {} {} {}", app.get_name(), place, word));
  const std::vector<std::string> words = used.remaining(true);
  // An option that nobody knows leaves its value behind too; the option is to blame.
  for (const std::string& word : words)
    if (word.starts_with("-")) return unknown_option(word, used, help);
  if (words.empty()) return UserError(error.what(), help);
  if (&used == &app) return unknown_command(words.front(), app, help);
  return UserError(fmt::format("unexpected argument '{}'", words.front()), help);
}

UserError parse_error(const CLI::ParseError& error, const CLI::App& app) {
  const std::vector<CLI::App*> commands = app.get_subcommands();
  const CLI::App& used = commands.empty() ? app : *commands.back();
  const std::string help =
      fmt::format("see {} {}--help", app.get_name(), commands.empty() ? "" : used.get_name() + " ");
  if (dynamic_cast<const CLI::ExtrasError*>(&error)) return unexpected_words(error, app, used, help);
  if (const CLI::Option* option = option_of(error, used, value_missing))
    return UserError(fmt::format("{} needs a value, {}", option->get_name(), option->get_type_name()), help);
  if (const CLI::Option* option = option_of(error, used, given_again))
    return UserError(fmt::format("{} is given more than once", option->get_name()), help);
  if (const CLI::Option* option = option_of(error, used, option_missing))
    return UserError(fmt::format("{} is missing", option->get_name()), help);
  return UserError(error.what(), help);
}

}  // namespace

Option& Option::type_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::check(const ValueCheck& check) {
  option_->check(
      CLI::Validator([problem = check.problem](std::string& text) { return problem(text); }, check.choices));
  return *this;
}

Option& Option::transform(const std::function<std::string(std::string& text)>& rewrite) {
  option_->transform(CLI::Validator(rewrite, ""));
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

Option& Option::split_at(char delimiter) {
  option_->delimiter(delimiter);
  return *this;
}

bool Option::is_given() const {
  return option_->count() > 0;
}

Option CommandLine::add_option(const std::string& name, std::string& target, const std::string& help) {
  return Option(app_->add_option(name, target, help));
}

Option CommandLine::add_option(const std::string& name, int& target, const std::string& help) {
  return Option(app_->add_option(name, target, help));
}

Option CommandLine::add_option(const std::string& name, int64_t& target, const std::string& help) {
  return Option(app_->add_option(name, target, help));
}

Option CommandLine::add_option(const std::string& name, uint64_t& target, const std::string& help) {
  return Option(app_->add_option(name, target, help));
}

Option CommandLine::add_option(const std::string& name, double& target, const std::string& help) {
  return Option(app_->add_option(name, target, help));
}

Option CommandLine::add_option(const std::string& name, std::optional<std::string>& target,
                               const std::string& help) {
  return Option(app_->add_option(name, target, help));
}

Option CommandLine::add_option(const std::string& name, std::optional<int64_t>& target,
                               const std::string& help) {
  return Option(app_->add_option(name, target, help));
}

Option CommandLine::add_option(const std::string& name, std::optional<double>& target,
                               const std::string& help) {
  return Option(app_->add_option(name, target, help));
}

Option CommandLine::add_option(const std::string& name, std::vector<std::string>& target,
                               const std::string& help) {
  return Option(app_->add_option(name, target, help)->allow_extra_args(false));
}

void CommandLine::add_flag(const std::string& name, bool& target, const std::string& help) {
  app_->add_flag(name, target, help);
}

void CommandLine::add_version_flag(const std::string& text) {
  app_->set_version_flag("--version", text);
}

void CommandLine::set_footer(const std::string& text) {
  app_->footer(text);
}

Option CommandLine::option(const std::string& name) const {
  return Option(app_->get_option(name));
}

CommandParser::CommandParser(const std::string& program, const std::string& description,
                             const std::string& version)
    : app_(std::make_unique<CLI::App>(description)) {
  app_->name(program);
  app_->set_version_flag("--version", version);
  app_->require_subcommand(0, 1);
}

CommandParser::~CommandParser() = default;

CommandLine CommandParser::add_command(const std::string& name, const std::string& summary) {
  return CommandLine(app_->add_subcommand(name, summary));
}

Request CommandParser::parse(std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  try {
    app_->parse(std::move(arguments));
  } catch (const CLI::Success& success) {
    std::ostringstream answer;
    app_->exit(success, answer, answer);
    return {"", answer.str()};
  } catch (const CLI::ParseError& error) {
    throw parse_error(error, *app_);
  }
  const std::vector<CLI::App*> used = app_->get_subcommands();
  return {used.empty() ? "" : used.front()->get_name(), std::nullopt};
}

std::string CommandParser::help() const {
  return app_->help();
}

}  // namespace mtfc
