#include "formats/text/html_text.h"

#include "core/diagnostics/printable.h"

namespace mtfc {

std::string html_escaped(std::string_view text) {
  std::string result;
  for (const char letter : printable(text)) {
    if (letter == '<')
      result += "&lt;";
    else if (letter == '>')
      result += "&gt;";
    else if (letter == '&')
      result += "&amp;";
    else if (letter == '"')
      result += "&quot;";
    else
      result += letter;
  }
  return result;
}

}  // namespace mtfc
