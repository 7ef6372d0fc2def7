#include "formats/report/check_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/json/output_object.h"

namespace mtfc {
namespace {

int64_t count_of(const std::vector<Diagnostic>& found, Severity severity) {
  return std::count_if(found.begin(), found.end(),
                       [&](const Diagnostic& diagnostic) { return diagnostic.severity == severity; });
}

const char* word_of(Severity severity) {
  return severity == Severity::kError ? "error" : severity == Severity::kWarning ? "warning" : "note";
}

std::string how_many(int64_t count, const std::string& what) {
  return fmt::format("{} {}{}", count == 0 ? "no" : fmt::format("{}", count), what, count == 1 ? "" : "s");
}

using namespace schema_parts;

const OutputObject<Location> kLocation = {
    {"file", text(), [](const Location& location) { return unless_empty(location.file); }},
    {"line", whole(), [](const Location& location) { return unless_empty(location.line); }},
    {"column", whole(), [](const Location& location) { return unless_empty(location.column); }},
    {"pointer", text("JSON pointer"),
     [](const Location& location) { return unless_empty(location.pointer); }}};

const OutputObject<Diagnostic> kDiagnostic = {
    {"severity",
     {{"enum", {"error", "warning", "note"}}},
     [](const Diagnostic& diagnostic) { return word_of(diagnostic.severity); }},
    {"message", text(), &Diagnostic::message},
    {"hint", text("what to do about it"),
     [](const Diagnostic& diagnostic) { return unless_empty(diagnostic.hint); }},
    {kLocation, &Diagnostic::location}};

struct Checked {
  const std::string& model;
  const std::vector<Diagnostic>& found;
};

const OutputObject<Checked> kCheck = {
    {"mtfc_check", version(), kFirstVersion},
    {"model", text("the file"), [](const Checked& checked) { return checked.model; }},
    {"errors", whole(), [](const Checked& checked) { return count_of(checked.found, Severity::kError); }},
    {"warnings", whole(), [](const Checked& checked) { return count_of(checked.found, Severity::kWarning); }},
    {"notes", whole(), [](const Checked& checked) { return count_of(checked.found, Severity::kNote); }},
    {"diagnostics", list_of(kDiagnostic.schema()),
     [](const Checked& checked) { return json_list(checked.found, kDiagnostic); }}};

}  // namespace

std::string check_text(const std::string& model, const std::vector<Diagnostic>& found) {
  return fmt::format("{}: {}, {}\n", model, how_many(count_of(found, Severity::kError), "error"),
                     how_many(count_of(found, Severity::kWarning), "warning"));
}

std::string check_json(const std::string& model, const std::vector<Diagnostic>& found) {
  return dump_lines(kCheck.json({model, found}), 2);
}

std::string check_schema() {
  return output_schema("mtfc check", "What mtfc check --format json prints", kCheck.schema());
}

}  // namespace mtfc
