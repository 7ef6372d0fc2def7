#include "formats/report/check_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/json/ordered_json.h"

namespace mtfc {
namespace {

int64_t count_of(const std::vector<Diagnostic>& found, Severity severity) {
  return std::count_if(found.begin(), found.end(),
                       [&](const Diagnostic& diagnostic) { return diagnostic.severity == severity; });
}

const char* name_of(Severity severity) {
  return severity == Severity::kError ? "error" : severity == Severity::kWarning ? "warning" : "note";
}

std::string how_many(int64_t count, const std::string& what) {
  return fmt::format("{} {}{}", count == 0 ? "no" : fmt::format("{}", count), what, count == 1 ? "" : "s");
}

Json json_of(const Diagnostic& diagnostic) {
  Json json = {{"severity", name_of(diagnostic.severity)}, {"message", diagnostic.message}};
  if (!diagnostic.hint.empty()) json["hint"] = diagnostic.hint;
  const Location& location = diagnostic.location;
  if (!location.file.empty()) json["file"] = location.file;
  if (location.line > 0) json["line"] = location.line;
  if (location.column > 0) json["column"] = location.column;
  if (!location.pointer.empty()) json["pointer"] = location.pointer;
  return json;
}

}  // namespace

std::string check_text(const std::string& model, const std::vector<Diagnostic>& found) {
  return fmt::format("{}: {}, {}\n", model, how_many(count_of(found, Severity::kError), "error"),
                     how_many(count_of(found, Severity::kWarning), "warning"));
}

std::string check_json(const std::string& model, const std::vector<Diagnostic>& found) {
  Json json = {{"mtfc_check", 1},
               {"model", model},
               {"errors", count_of(found, Severity::kError)},
               {"warnings", count_of(found, Severity::kWarning)},
               {"notes", count_of(found, Severity::kNote)},
               {"diagnostics", json_list(found, [](const Diagnostic& one) { return json_of(one); })}};
  return dump_lines(json, 2);
}

}  // namespace mtfc
