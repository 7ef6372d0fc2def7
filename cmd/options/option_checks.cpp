#include "cmd/options/option_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>

#include "core/diagnostics/suggest.h"

namespace mtfc {
namespace {

std::string check_whole_number(const std::string& text, int64_t least, int64_t most) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop == end && error == std::errc::result_out_of_range)
    return fmt::format("the number {} is too large", text);
  if (stop != end || error != std::errc()) return fmt::format("expected a whole number, found '{}'", text);
  if (value < least) return fmt::format("expected {} or more, found {}", least, text);
  return value > most ? fmt::format("expected {} at most, found {}", most, text) : "";
}

// What is wrong with a number that is to be finite and `range`, or "".
std::string check_number(const std::string& text, bool (*is_right)(double), const char* range) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error != std::errc() || !std::isfinite(value))
    return fmt::format("expected a number, found '{}'", text);
  return is_right(value) ? "" : fmt::format("expected a number {}, found {}", range, text);
}

// The option that CLI11's message begins with, as in `--set: 1 required NAME=VALUE missing`.
const CLI::Option* option_of(const std::string& what, const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    if (what.starts_with(option->get_name() + ":")) return option;
  return nullptr;
}

// The command in use, or else the first that has the option `word`; "" where none has it.
std::string command_with(const std::string& word, const CLI::App& app) {
  if (!word.starts_with("-")) return "";
  std::vector<const CLI::App*> commands = app.get_subcommands([](const CLI::App*) { return true; });
  const std::vector<CLI::App*> used = app.get_subcommands();
  commands.insert(commands.begin(), used.begin(), used.end());
  for (const CLI::App* command : commands)
    if (command->get_option_no_throw(word.substr(0, word.find('='))) != nullptr) return command->get_name();
  return "";
}

UserError unexpected(const std::string& word, const CLI::App& used, const std::string& help,
                     const std::vector<std::string>& commands) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> known = commands;
  if (word.starts_with("-")) {
    known.clear();
    for (const CLI::Option* option : used.get_options())
      for (const std::string& long_name : option->get_lnames()) known.push_back("--" + long_name);
  }
  const std::string near = did_you_mean(name, known);
  const std::string hint = near.empty() ? help : near;
  if (word.starts_with("-")) return UserError(fmt::format("there is no option '{}'", name), hint);
  if (!commands.empty()) return UserError(fmt::format("there is no command '{}'", word), hint);
  return UserError(fmt::format("the argument '{}' is one too many", word), help);
}

}  // namespace

CLI::Validator whole_number(int64_t least, int64_t most) {
  return CLI::Validator([=](std::string& text) { return check_whole_number(text, least, most); }, "");
}

CLI::Validator positive_number() {
  return CLI::Validator(
      [](std::string& text) {
        return check_number(
            text, [](double value) { return value > 0; }, "above 0");
      },
      "");
}

CLI::Validator number_not_negative() {
  return CLI::Validator(
      [](std::string& text) {
        return check_number(
            text, [](double value) { return value >= 0; }, "of at least 0");
      },
      "");
}

CLI::Validator one_of(std::vector<std::string> words) {
  const std::string list = fmt::format("{}", fmt::join(words, ", "));
  return CLI::Validator(
      [words = std::move(words), list](std::string& text) -> std::string {
        if (std::find(words.begin(), words.end(), text) != words.end()) return "";
        const std::string near = did_you_mean(text, words);
        return fmt::format("'{}' is none of {}{}", text, list, near.empty() ? "" : " - " + near);
      },
      "{" + fmt::format("{}", fmt::join(words, ",")) + "}");
}

UserError parse_error(const CLI::ParseError& error, const CLI::App& app,
                      const std::vector<std::string>& commands) {
  const CLI::App* used = &app;
  for (const CLI::App* command : app.get_subcommands()) used = command;
  const std::string help = "see mtfc " + (used == &app ? "" : used->get_name() + " ") + "--help";
  const std::string what = error.what();
  const auto failed = [&](CLI::ExitCodes code) { return error.get_exit_code() == static_cast<int>(code); };
  if (failed(CLI::ExitCodes::ExtrasError)) {
    for (const std::string& word : app.remaining())
      if (const std::string place = command_with(word, app); !place.empty())
        return UserError(fmt::format("the option '{}' belongs after the command", word),
                         fmt::format("as in mtfc {} {}", place, word));
    std::vector<std::string> words = used->remaining(true);
    // An option that nobody knows leaves its value behind too; the option is to blame.
    for (const std::string& word : words)
      if (word.starts_with("-")) return unexpected(word, *used, help, {});
    if (!words.empty())
      return unexpected(words.front(), *used, help, used == &app ? commands : std::vector<std::string>{});
  }
  const CLI::Option* option = option_of(what, *used);
  if (failed(CLI::ExitCodes::ArgumentMismatch) && option && what.ends_with("missing"))
    return UserError(fmt::format("{} needs a value, {}", option->get_name(), option->get_type_name()), help);
  if (failed(CLI::ExitCodes::ArgumentMismatch) && option && what.find("At Most 1") != std::string::npos)
    return UserError(fmt::format("{} is given more than once", option->get_name()), help);
  if (failed(CLI::ExitCodes::RequiredError) && what.ends_with(" is required"))
    return UserError(
        fmt::format("{} is missing", what.substr(0, what.size() - std::string(" is required").size())), help);
  return UserError(what, help);
}

}  // namespace mtfc
