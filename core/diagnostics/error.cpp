#include "core/diagnostics/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

#include "core/diagnostics/printable.h"

namespace mtfc {
namespace {

constexpr size_t kLongestWord = 120;  // bytes; a longer word from a file would bury the message

bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// Replaces the middle of a long word by three dots, without cutting a UTF-8 character.
std::string shortened(std::string_view word) {
  constexpr size_t kKept = kLongestWord / 2;
  if (word.size() <= kLongestWord) return std::string(word);
  size_t head = kKept, tail = word.size() - kKept;
  while (head > 0 && continues_character(word[head])) --head;
  while (tail < word.size() && continues_character(word[tail])) ++tail;
  return std::string(word.substr(0, head)) + "..." + std::string(word.substr(tail));
}

// Shortens a long message in its middle, since it names its subject first and says the rest at its end.
std::string without_middle(const std::string& message) {
  constexpr size_t kLongest = 600, kHead = 400, kTail = 150;
  if (message.size() <= kLongest) return message;
  size_t head = kHead, tail = message.size() - kTail;
  while (head > 0 && continues_character(message[head])) --head;
  while (tail < message.size() && continues_character(message[tail])) ++tail;
  return message.substr(0, head) + " ... " + message.substr(tail);
}

// Printable, and with every long word shortened.
std::string shown_words(std::string_view text) {
  std::string shown;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(' ', start), text.size());
    if (start > 0) shown += ' ';
    shown += printable(shortened(text.substr(start, end - start)));
    start = end + 1;
  }
  return shown;
}

std::string joined(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += (text.empty() ? "" : "\n") + to_string(diagnostic);
  return text;
}

}  // namespace

Diagnostic plain_warning(std::string message, std::string hint) {
  return {{}, std::move(message), std::move(hint), Severity::kWarning};
}

Diagnostic plain_note(std::string message, std::string hint) {
  return {{}, std::move(message), std::move(hint), Severity::kNote};
}

std::string to_string(const Diagnostic& diagnostic) {
  const Location& at = diagnostic.location;
  std::string text;
  if (!at.file.empty()) {
    text += printable(at.file) + ":";
    if (at.line > 0) text += fmt::format("{}:{}:", at.line, at.column);
    text += " ";
  }
  text += diagnostic.severity == Severity::kError     ? "error: "
          : diagnostic.severity == Severity::kWarning ? "warning: "
                                                      : "note: ";
  if (!at.pointer.empty()) text += shown_words(at.pointer) + ": ";
  text += without_middle(shown_words(diagnostic.message));
  if (!diagnostic.hint.empty()) text += " (" + shown_words(diagnostic.hint) + ")";
  return text;
}

RunError::RunError(const std::string& message) : Error(printable(message)) {}

UserError::UserError(std::vector<Diagnostic> diagnostics)
    : Error(joined(diagnostics)), diagnostics_(std::move(diagnostics)) {}

UserError::UserError(const std::string& message, const std::string& hint, Location location)
    : UserError(std::vector<Diagnostic>{{std::move(location), message, hint}}) {}

ExitCode exit_code(const std::exception& error) {
  if (dynamic_cast<const UserError*>(&error)) return kExitUserError;
  if (dynamic_cast<const RunError*>(&error) || dynamic_cast<const std::bad_alloc*>(&error))
    return kExitRunFailed;
  return kExitInternalError;
}

}  // namespace mtfc
