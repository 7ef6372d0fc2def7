#include "cmd/options/help_layout.h"

#include <algorithm>
#include <sstream>

namespace mtfc {
namespace {

// Like help_words. `line_end` stands at the end of each line that another one continues; with it, the words are those
// of a command, and none is cut.
std::string words_in_lines(const std::string& head, const std::string& text, size_t indent, size_t width,
                           const std::string& line_end) {
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

}  // namespace

std::string help_words(const std::string& head, const std::string& text, size_t indent, size_t width) {
  return words_in_lines(head, text, indent, width, "");
}

std::string help_entry(const std::string& name, const std::string& description, size_t column, size_t width) {
  std::string head = help_words("  ", name, 4, width);
  head.pop_back();
  if (description.empty()) return head + "\n";
  const size_t last = head.rfind('\n') == std::string::npos ? 0 : head.rfind('\n') + 1;
  if (head.size() - last + 1 > column)
    return head + "\n" + help_words(std::string(column, ' '), description, column, width);
  head.resize(last + column, ' ');
  return head.substr(0, last) + help_words(head.substr(last), description, column, width);
}

std::string help_commands(const std::string& commands, size_t width) {
  std::string text;
  std::istringstream lines(commands);
  for (std::string line; std::getline(lines, line);) {
    const size_t indent = line.find_first_not_of(' ');
    text += line.size() <= width || indent == std::string::npos
                ? line + "\n"
                : words_in_lines(std::string(indent, ' '), line, indent + 4, width, " \\");
  }
  return text;
}

size_t help_column(size_t width) {
  return std::min<size_t>(28, width * 3 / 8);
}

}  // namespace mtfc
