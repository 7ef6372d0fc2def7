#include "formats/json/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace mtfc {
namespace {

// Sorts files in the order of their first mistakes; diagnostics without a line come first.
void sort_by_place(std::vector<Diagnostic>& list) {
  std::map<std::string, size_t> files;
  for (const Diagnostic& diagnostic : list)
    if (diagnostic.location.line > 0) files.emplace(diagnostic.location.file, files.size() + 1);
  const auto key = [&](const Diagnostic& diagnostic) {
    const Location& at = diagnostic.location;
    return std::tuple(at.line > 0 ? files.at(at.file) : 0, at.line, at.column);
  };
  std::stable_sort(list.begin(), list.end(),
                   [&](const Diagnostic& a, const Diagnostic& b) { return key(a) < key(b); });
}

}  // namespace

void DiagnosticSink::error(Location location, std::string message, std::string hint) {
  if (is_repeated(location)) return consequence();
  if (!calls_.empty()) message += calls_.back().chain;
  errors_.push_back({std::move(location), std::move(message), std::move(hint), Severity::kError});
}

void DiagnosticSink::warning(Location location, std::string message, std::string hint) {
  if (!warned_.emplace(location.file, location.line, location.column).second) return;
  warnings_.push_back({std::move(location), std::move(message), std::move(hint), Severity::kWarning});
}

void DiagnosticSink::enter_call(std::string chain) {
  calls_.push_back({++call_count_, std::move(chain)});
}

bool DiagnosticSink::is_repeated(const Location& location) {
  if (calls_.empty()) return false;
  const int number = calls_.back().number;
  return blamed_.emplace(Place{location.file, location.line, location.column}, number).first->second !=
         number;
}

void DiagnosticSink::finish(std::vector<Diagnostic>& warnings) {
  if (failed()) {
    sort_by_place(errors_);
    if (errors_.size() > kMostShown) {
      const size_t hidden = errors_.size() - kMostShown;
      errors_.resize(kMostShown);
      errors_.push_back({{errors_.front().location.file, 0, 0, ""},
                         fmt::format("and {} more error{}", hidden, hidden == 1 ? "" : "s"),
                         ""});
    }
    throw UserError(std::move(errors_));
  }
  sort_by_place(warnings_);
  warnings.insert(warnings.end(), warnings_.begin(), warnings_.end());
  warnings_.clear();
}

}  // namespace mtfc
