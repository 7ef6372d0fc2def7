#include "formats/text/wrapped_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace mtfc {

std::string wrapped(const std::string& head, const std::string& text, const char* breaks, size_t width) {
  std::string lines, line = head;
  size_t start = 0;
  while (start < text.size()) {
    const size_t end = std::min(text.find_first_of(breaks, start), text.size() - 1) + 1;
    const size_t length = end - start - (text[end - 1] == ' ' ? 1 : 0);
    if (line.size() > head.size() && line.size() + length > width) {
      lines += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line = std::string(head.size(), ' ');
    }
    line += text.substr(start, end - start);
    start = end;
  }
  return lines + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string columns(const std::vector<std::vector<std::string>>& rows, size_t flush_left,
                    const std::string& margin) {
  std::vector<size_t> widths;
  for (const auto& row : rows)
    for (size_t c = 0; c < row.size(); ++c) {
      widths.resize(std::max(widths.size(), c + 1));
      widths[c] = std::max(widths[c], row[c].size());
    }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c)
      line += (c == 0 ? margin : "  ") + (c < flush_left ? fmt::format("{:<{}}", row[c], widths[c])
                                                         : fmt::format("{:>{}}", row[c], widths[c]));
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace mtfc
