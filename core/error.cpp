#include "core/error.h"

#include <fmt/format.h>

#include <utility>

namespace mtfc {
namespace {

std::string joined(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += (text.empty() ? "" : "\n") + to_string(diagnostic);
  return text;
}

}  // namespace

std::string to_string(const Diagnostic& diagnostic) {
  const Location& at = diagnostic.location;
  std::string text;
  if (!at.file.empty()) {
    text += at.file + ":";
    if (at.line > 0) text += fmt::format("{}:{}:", at.line, at.column);
    text += " ";
  }
  text += diagnostic.severity == Severity::kError ? "error: " : "warning: ";
  if (!at.pointer.empty()) text += at.pointer + ": ";
  text += diagnostic.message;
  if (!diagnostic.hint.empty()) text += " (" + diagnostic.hint + ")";
  return text;
}

UserError::UserError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(joined(diagnostics)), diagnostics_(std::move(diagnostics)) {}

UserError::UserError(const std::string& message, const std::string& hint, Location location)
    : UserError(std::vector<Diagnostic>{{std::move(location), message, hint}}) {}

}  // namespace mtfc
