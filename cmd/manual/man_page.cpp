#include "cmd/manual/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>
#include <utility>

#include "cmd/options/help_layout.h"

namespace mtfc {
namespace {

using Block = TopicBlock;

constexpr size_t kWidthOfExamples = 72;

// Letters that troff would take for something else.
constexpr std::pair<char, const char*> kEscapes[] = {{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"},
                                                     {'"', "\\(dq"}, {'`', "\\(ga"}, {'^', "\\(ha"},
                                                     {'~', "\\(ti"}};

std::string upper(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return text;
}

// The code point at `at` of a text in UTF-8, and past it.
uint32_t code_point(const std::string& text, size_t& at) {
  const auto byte = static_cast<unsigned char>(text[at++]);
  if (byte < 0xC0) return byte;
  const int more = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
  uint32_t point = byte & (0x3FU >> more);
  for (int i = 0; i < more && at < text.size(); ++i)
    point = (point << 6U) | (static_cast<unsigned char>(text[at++]) & 0x3FU);
  return point;
}

// Printed unchanged in the middle of a line.
std::string inline_text(const std::string& text) {
  std::string made;
  for (size_t at = 0; at < text.size();) {
    const uint32_t point = code_point(text, at);
    const auto escape = std::find_if(std::begin(kEscapes), std::end(kEscapes), [&](const auto& one) {
      return static_cast<uint32_t>(one.first) == point;
    });
    if (escape != std::end(kEscapes))
      made += escape->second;
    else
      made += point < 0x80 ? std::string(1, static_cast<char>(point)) : fmt::format("\\[u{:04X}]", point);
  }
  return made;
}

// A long word without blanks may be broken after a comma or a bar.
std::string breakable(const std::string& text) {
  std::string made;
  for (const char letter : inline_text(text)) {
    made += letter;
    if (letter == ',' || letter == '|') made += "\\:";
  }
  return made;
}

std::string bold(const std::string& text) {
  return "\\fB" + inline_text(text) + "\\fR";
}

std::string italic(const std::string& text) {
  return "\\fI" + breakable(text) + "\\fR";
}

// Prose, with the words between backquotes in bold.
std::string prose(const std::string& text) {
  std::string made;
  size_t at = 0;
  for (size_t open; (open = text.find('`', at)) != std::string::npos;) {
    const size_t close = text.find('`', open + 1);
    if (close == std::string::npos) break;
    made += inline_text(text.substr(at, open - at)) + bold(text.substr(open + 1, close - open - 1));
    at = close + 1;
  }
  made += inline_text(text.substr(at));
  return made.starts_with('.') ? "\\&" + made + "\n" : made + "\n";
}

std::string lines_as_they_are(const std::string& text) {
  std::string made = ".PP\n.nf\n.RS 2\n";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) made += "\\&" + inline_text(line) + "\n";
  return made + ".RE\n.fi\n";
}

// The commands of examples, without their indentation by two.
std::string commands_in_lines(const std::string& text) {
  std::string unindented;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    unindented += (line.starts_with("  ") ? line.substr(2) : line) + "\n";
  return lines_as_they_are(help_commands(unindented, kWidthOfExamples));
}

std::string entry(const std::string& tag, const std::string& text) {
  return ".TP\n" + tag + "\n" + prose(text);
}

std::string title(const CommandTable& table, const std::string& name, int section) {
  return fmt::format(
      ".\\\" Made by `{0} man`; changes to this file are lost.\n.TH \"{1}\" \"{2}\" \"\" \"{3}\" "
      "\"{0}\"\n.nh\n.ad l\n",
      table.program, inline_text(upper(name)), section, inline_text(table.version));
}

std::string name_section(const std::string& name, const std::string& summary) {
  return ".SH NAME\n" + inline_text(name) + " \\- " + prose(summary);
}

// The values that help shows in the name of the option: {text,json}, or FILE.
std::string value_text(const OptionEntry& option) {
  if (option.choices.empty()) return italic(option.value);
  std::string list;
  for (const std::string& choice : option.choices) list += (list.empty() ? "" : ",") + choice;
  return breakable("{" + list + "}");
}

std::string tag_of(const OptionEntry& option) {
  if (option.is_argument)
    return italic(option.names.front()) + (option.choices.empty() ? "" : " " + value_text(option));
  std::string tag;
  for (const std::string& name : option.names) tag += (tag.empty() ? "" : ", ") + bold(name);
  if (!option.takes_value) return tag;
  return tag + " " + value_text(option) + (option.is_repeatable ? " ..." : "");
}

std::string text_of(const OptionEntry& option) {
  std::string text = option.help;
  if (option.is_required && !option.is_argument) text += " (required)";
  if (!option.default_value.empty()) text += fmt::format(" (default: {})", option.default_value);
  return text;
}

std::string arguments_of(const std::vector<OptionEntry>& options) {
  std::string text;
  for (const OptionEntry& option : options)
    if (option.is_argument)
      text +=
          option.is_required ? " " + italic(option.names.front()) : " [" + italic(option.names.front()) + "]";
  return text;
}

std::string option_sections(const std::vector<OptionEntry>& options, bool with_headings) {
  std::string text, group;
  for (const OptionEntry& option : options) {
    if (option.is_argument) continue;
    if (with_headings && option.group != group) text += ".SS " + inline_text(option.group) + "\n";
    group = option.group;
    text += entry(tag_of(option), text_of(option));
  }
  return text;
}

std::string blocks_text(const Topic& topic) {
  std::string text;
  for (const Block& block : blocks_of(topic)) switch (block.kind) {
      case Block::Kind::kParagraph:
        text += ".PP\n" + prose(block.text);
        break;
      case Block::Kind::kEntry:
        text += entry("\\fB" + breakable(block.name) + "\\fR", block.text);
        break;
      case Block::Kind::kCommands:
        text += commands_in_lines(block.text);
        break;
      case Block::Kind::kLines:
        text += lines_as_they_are(block.text);
        break;
    }
  return text;
}

// The entries of a topic, as a section of other pages.
std::string entries_of_topic(const std::string& name) {
  std::string text;
  for (const Block& block : blocks_of(*find_topic(name)))
    if (block.kind == Block::Kind::kEntry) text += entry("\\fB" + breakable(block.name) + "\\fR", block.text);
  return text;
}

std::string reference(const std::string& name, int section) {
  return fmt::format("{}({})", bold(name), section);
}

// All topics, and the pages in `first`.
std::string see_also(const CommandTable& table, const std::string& first) {
  std::string text = ".SH SEE ALSO\n" + first;
  for (const Topic& topic : topics())
    text += ",\n" + reference(fmt::format("{}-{}", table.program, topic.name), 7);
  return text + "\n";
}

}  // namespace

std::string program_man_page(const CommandTable& table) {
  std::string page =
      title(table, table.program, 1) +
      name_section(table.program, "compile and run distributed tensor programs") + ".SH SYNOPSIS\n" +
      bold(table.program) + " \\fICOMMAND\\fR [\\fIOPTIONS\\fR] ...\n.br\n" + bold(table.program + " help") +
      " [\\fICOMMAND\\fR|\\fITOPIC\\fR]\n.SH DESCRIPTION\n" + prose(table.description) + ".SH COMMANDS\n";
  for (const CommandEntry& command : table.commands)
    page += entry(reference(fmt::format("{}-{}", table.program, command.name), 1), command.summary);
  page += ".SH OPTIONS\n" + option_sections(table.options, false);
  page += ".SH ENVIRONMENT\n" + entries_of_topic("environment");
  page += ".SH EXIT STATUS\n" + entries_of_topic("exit-codes");
  std::string commands;
  for (const CommandEntry& command : table.commands)
    commands +=
        (commands.empty() ? "" : ",\n") + reference(fmt::format("{}-{}", table.program, command.name), 1);
  return page + see_also(table, commands);
}

std::string command_man_page(const CommandTable& table, const CommandEntry& command) {
  const std::string name = fmt::format("{}-{}", table.program, command.name);
  std::string page = title(table, name, 1) + name_section(name, command.summary) + ".SH SYNOPSIS\n" +
                     bold(fmt::format("{} {}", table.program, command.name)) + " [\\fIOPTIONS\\fR]" +
                     arguments_of(command.options) + "\n.SH DESCRIPTION\n" +
                     prose(command.description.empty() ? command.summary : command.description);
  for (const OptionEntry& option : command.options)
    if (option.is_argument) page += entry(tag_of(option), text_of(option));
  page += ".SH OPTIONS\n" + option_sections(command.options, true);
  page += ".SH EXAMPLES\n" + commands_in_lines(command.examples);
  page += ".SH EXIT STATUS\n" + entries_of_topic("exit-codes");
  return page + see_also(table, reference(table.program, 1));
}

std::string topic_man_page(const CommandTable& table, const Topic& topic) {
  const std::string name = fmt::format("{}-{}", table.program, topic.name);
  const std::string page =
      title(table, name, 7) + name_section(name, topic.summary) + ".SH DESCRIPTION\n" + blocks_text(topic);
  std::string others = reference(table.program, 1);
  return page + ".SH SEE ALSO\n" + others + "\n";
}

std::vector<ManPage> man_pages(const CommandTable& table) {
  std::vector<ManPage> pages = {{table.program, 1, program_man_page(table)}};
  for (const CommandEntry& command : table.commands)
    pages.push_back({fmt::format("{}-{}", table.program, command.name), 1, command_man_page(table, command)});
  for (const Topic& topic : topics())
    pages.push_back({fmt::format("{}-{}", table.program, topic.name), 7, topic_man_page(table, topic)});
  return pages;
}

}  // namespace mtfc
