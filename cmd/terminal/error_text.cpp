#include "cmd/terminal/error_text.h"

#include <iostream>
#include <new>

#include "cmd/terminal/color.h"
#include "core/diagnostics/error.h"
#include "core/diagnostics/printable.h"

namespace mtfc {
namespace {

std::string line(std::string text, const std::string& word, bool color) {
  const size_t at = text.find(word);
  if (color && at != std::string::npos)
    text = text.substr(0, at) + "\033[1;31m" + word + "\033[0m" + text.substr(at + word.size());
  return text + "\n";
}

}  // namespace

std::string error_text(const std::exception& error, bool color) {
  if (const auto* user = dynamic_cast<const UserError*>(&error)) {
    std::string text;
    for (const Diagnostic& diagnostic : user->diagnostics())
      text +=
          line((diagnostic.location.file.empty() ? "mtfc: " : "") + to_string(diagnostic), "error:", color);
    return text;
  }
  if (dynamic_cast<const RunError*>(&error))
    return line(std::string("mtfc: error: ") + error.what(), "error:", color);
  if (dynamic_cast<const std::bad_alloc*>(&error)) return line("mtfc: error: out of memory", "error:", color);
  return line("mtfc: internal error: " + printable(error.what()) +
                  "\nThis is a bug in mtfc. Please report it with the model, the layout and the command.",
              "internal error:", color);
}

void show_error(const std::exception& error) {
  std::cerr << error_text(error, has_colors(2)) << std::flush;
}

void show_error(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& shown) {
    show_error(shown);
  }
}

}  // namespace mtfc
