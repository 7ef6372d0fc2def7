#include "cmd/options/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
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

// The words of `text` in lines of at most `width` characters, the first of which begins with `head` and the
// others with `indent` blanks. `line_end` stands at the end of each line that another one continues; with it, the
// words are those of a command, and none is cut.
std::string wrapped_words(const std::string& head, const std::string& text, size_t indent, size_t width,
                          const std::string& line_end = "") {
  const size_t room = std::max(width, indent + 12) - line_end.size();
  std::string lines, line = head;
  bool is_empty = true;  // no word in this line yet
  const auto new_line = [&] {
    lines += line.substr(0, line.find_last_not_of(' ') + 1) + line_end + "\n";
    line = std::string(indent, ' ');
    is_empty = true;
  };
  for (size_t at = text.find_first_not_of(' '); at != std::string::npos;) {
    const size_t end = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, end - at);
    if (line.size() + !is_empty + word.size() > room && (!is_empty || line.size() > indent)) new_line();
    while (line_end.empty() && line.size() + word.size() > room && line.size() < room) {
      const size_t cut = word.find_last_of(",|/", room - line.size() - 1);
      if (cut == std::string::npos) break;
      line += word.substr(0, cut + 1);
      word = word.substr(cut + 1);
      new_line();
    }
    line += (is_empty ? "" : " ") + word;
    is_empty = false;
    at = text.find_first_not_of(' ', end);
  }
  return lines + line + "\n";
}

// Help whose lines fit on the terminal: CLI11 leaves long lines to it, which breaks them inside words.
class WrappingFormatter : public CLI::Formatter {
 public:
  explicit WrappingFormatter(int width) : width_(static_cast<size_t>(std::max(width, 40))) {
    column_width(std::min<size_t>(28, width_ * 3 / 8));
  }

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
    return text.empty() ? text : wrapped_words("", text, 0, width_);
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string text = CLI::Formatter::make_usage(app, std::move(name));
    while (text.ends_with('\n')) text.pop_back();
    return wrapped_words("", text, 4, width_) + "\n";
  }
  // The lines of examples: commands go on after a backslash.
  std::string make_footer(const CLI::App* app) const override {
    std::string text;
    std::istringstream lines(app->get_footer());
    for (std::string line; std::getline(lines, line);) {
      const size_t indent = line.find_first_not_of(' ');
      text += line.size() <= width_ || indent == std::string::npos
                  ? line + "\n"
                  : wrapped_words(std::string(indent, ' '), line, indent + 4, width_, " \\");
    }
    return text;
  }

 private:
  std::string entry(const std::string& name, const std::string& description) const {
    const size_t column = get_column_width();
    std::string head = wrapped_words("  ", name, 4, width_);
    head.pop_back();
    if (description.empty()) return head + "\n";
    const size_t last = head.rfind('\n') == std::string::npos ? 0 : head.rfind('\n') + 1;
    if (head.size() - last + 1 > column) return head + "\n" + below(column, description);
    head.resize(last + column, ' ');
    const std::string before = head.substr(0, last);
    return before + wrapped_words(head.substr(last), description, column, width_);
  }
  std::string below(size_t column, const std::string& description) const {
    return wrapped_words(std::string(column, ' '), description, column, width_);
  }

  size_t width_;
};

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
    else if (option->get_items_expected_max() > 0)
      words.push_back(option->results().at(before));
  }
  return words;
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

void CommandParser::set_width(int width) {
  const auto formatter = std::make_shared<WrappingFormatter>(width);
  app_->formatter(formatter);
  for (CLI::App* command : app_->get_subcommands([](CLI::App*) { return true; }))
    command->formatter(formatter);
}

std::string CommandParser::help() const {
  return app_->help();
}

}  // namespace mtfc
