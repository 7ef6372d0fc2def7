#include "cmd/options/folded_warnings.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "core/program/repeated_names.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

// A text in parts: those at odd positions are in quotes.
std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == '\'')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

std::string form_of(const Diagnostic& warning) {
  std::string form = fmt::format("{} {}", static_cast<int>(warning.severity), warning.location.file);
  for (const std::string* text : {&warning.message, &warning.hint}) {
    const std::vector<std::string> parts = parts_of(*text);
    for (size_t i = 0; i < parts.size(); ++i) form += "'" + (i % 2 == 1 ? unnumbered(parts[i]) : parts[i]);
    form += '\n';
  }
  return form;
}

// The texts, which have one form, as one.
std::string one_text(const std::vector<std::string>& texts) {
  std::vector<std::vector<std::string>> names;  // by part
  for (const std::string& text : texts) {
    const std::vector<std::string> parts = parts_of(text);
    names.resize(parts.size());
    for (size_t i = 0; i < parts.size(); ++i) names[i].push_back(parts[i]);
  }
  std::string one;
  for (size_t i = 0; i < names.size(); ++i)
    one += (i == 0 ? "" : "'") + (i % 2 == 1 ? folded(names[i]) : names[i].front());
  return one;
}

Diagnostic one_of_all(const std::vector<const Diagnostic*>& alike) {
  Diagnostic one = *alike.front();
  if (alike.size() == 1) return one;
  std::vector<std::string> messages, hints;
  for (const Diagnostic* warning : alike) {
    messages.push_back(warning->message);
    hints.push_back(warning->hint);
  }
  one.message = fmt::format("{} ({} {}s)", one_text(messages), grouped(static_cast<int64_t>(alike.size())),
                            one.severity == Severity::kNote ? "note" : "warning");
  one.hint = one_text(hints);
  return one;
}

}  // namespace

std::vector<Diagnostic> folded_warnings(const std::vector<Diagnostic>& warnings) {
  std::vector<std::vector<const Diagnostic*>> groups;
  std::map<std::string, size_t> known;
  for (const Diagnostic& warning : warnings) {
    const auto [at, is_new] = known.emplace(form_of(warning), groups.size());
    if (is_new || warning.severity == Severity::kError) {
      at->second = groups.size();
      groups.emplace_back();
    }
    groups[at->second].push_back(&warning);
  }
  std::vector<Diagnostic> folded;
  for (const std::vector<const Diagnostic*>& alike : groups) folded.push_back(one_of_all(alike));
  return folded;
}

}  // namespace mtfc
