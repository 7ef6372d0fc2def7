#include "cmd/manual/topics.h"

#include <algorithm>
#include <sstream>

#include "cmd/options/help_layout.h"

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

const Topic* find_topic(const std::string& name) {
  const auto found =
      std::find_if(topics().begin(), topics().end(), [&](const Topic& topic) { return topic.name == name; });
  return found == topics().end() ? nullptr : &*found;
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
