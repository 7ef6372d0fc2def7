#include "formats/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace mtfc {
namespace {

void sort_by_place(std::vector<Diagnostic>& list) {
  std::stable_sort(list.begin(), list.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.location.line, a.location.column) < std::tie(b.location.line, b.location.column);
  });
}

}  // namespace

void DiagnosticSink::error(Location location, std::string message, std::string hint) {
  errors_.push_back({std::move(location), std::move(message), std::move(hint), Severity::kError});
}

void DiagnosticSink::warning(Location location, std::string message, std::string hint) {
  warnings_.push_back({std::move(location), std::move(message), std::move(hint), Severity::kWarning});
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
