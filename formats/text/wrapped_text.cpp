#include "formats/text/wrapped_text.h"

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

}  // namespace mtfc
