#include "cmd/manual/topics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "cmd/options/help_layout.h"
#include "core/diagnostics/suggest.h"

namespace mtfc {
namespace {

using Kind = TopicBlock::Kind;

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

// The text of a line that begins with a mark and a blank.
std::string after_mark(const std::string& line) {
  return line.size() > 2 ? line.substr(2) : "";
}

void add_line(std::vector<TopicBlock>& blocks, Kind kind, const std::string& line, bool continues) {
  if (!continues || blocks.empty() || blocks.back().kind != kind) blocks.push_back({kind, "", ""});
  blocks.back().text += line + "\n";
}

void add_words(TopicBlock& block, const std::string& words) {
  block.text += (block.text.empty() ? "" : " ") + words;
}

}  // namespace

std::vector<TopicBlock> blocks_of(const Topic& topic) {
  std::vector<TopicBlock> blocks;
  std::istringstream lines(topic.text);
  bool continues = false;  // no empty line since the last one
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) {
      continues = false;
      continue;
    }
    if (line.front() == '$') {
      add_line(blocks, Kind::kCommands, after_mark(line), continues);
    } else if (line.front() == '|') {
      add_line(blocks, Kind::kLines, after_mark(line), continues);
    } else if (line.front() == '*') {
      const size_t colons = line.find(" :: ");
      blocks.push_back({Kind::kEntry, after_mark(line.substr(0, colons)), trimmed(line.substr(colons + 4))});
    } else if (continues && (line.front() == ' ' || blocks.back().kind == Kind::kParagraph)) {
      add_words(blocks.back(), trimmed(line));
    } else {
      blocks.push_back({Kind::kParagraph, "", trimmed(line)});
    }
    continues = true;
  }
  return blocks;
}

namespace {

std::string lowered(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

// How often the text of the topic has the word, in small letters or capitals.
int mentions(const Topic& topic, const std::string& word) {
  const std::string text = lowered(topic.text), wanted = lowered(word);
  const auto is_letter = [&](size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  int count = 0;
  for (size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1))
    if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + wanted.size())) ++count;
  return count;
}

}  // namespace

std::vector<std::string> page_names(std::vector<std::string> commands) {
  for (const Topic& topic : topics()) commands.emplace_back(topic.name);
  return commands;
}

UserError unknown_page(const std::string& name, const std::vector<std::string>& commands) {
  std::string hint = did_you_mean_word(name, page_names(commands));
  const auto less = [&](const Topic& a, const Topic& b) { return mentions(a, name) < mentions(b, name); };
  const Topic& topic = *std::max_element(topics().begin(), topics().end(), less);
  if (hint.empty() && !name.empty() && mentions(topic, name) > 0)
    hint = fmt::format("mtfc help {} speaks of it", topic.name);
  return UserError(fmt::format("there is no command and no topic '{}'", name),
                   hint.empty() ? "mtfc help lists all commands and topics" : hint);
}

const Topic* find_topic(const std::string& name) {
  return find_named(topics(), name);
}

std::string topic_page(const Topic& topic, size_t width) {
  std::string page = help_words("", topic.summary, 0, width);
  Kind last = Kind::kParagraph;
  for (const TopicBlock& block : blocks_of(topic)) {
    if (block.kind != Kind::kEntry || last != Kind::kEntry) page += "\n";
    last = block.kind;
    if (block.kind == Kind::kParagraph) {
      page += help_words("", block.text, 0, width);
    } else if (block.kind == Kind::kEntry) {
      page += help_entry(block.name, block.text, help_column(width), width);
    } else {
      std::istringstream lines(block.text);
      std::string indented;
      for (std::string line; std::getline(lines, line);) indented += "  " + line + "\n";
      page += block.kind == Kind::kCommands ? help_commands(indented, width) : indented;
    }
  }
  return page;
}

std::string topic_list(size_t width) {
  std::string list = "Topics of `mtfc help TOPIC`:\n";
  for (const Topic& topic : topics())
    list += help_entry(topic.name, topic.summary, help_column(width), width);
  return list;
}

}  // namespace mtfc
