#include "formats/report/reported_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics/error.h"
#include "formats/json/json_value.h"

namespace mtfc {
namespace {

// A value of the report and its name in messages. A report that lacks something is of another version, or no report.
class ReportValue {
 public:
  ReportValue(const JsonValue& value, const std::string& file, std::string name = "")
      : value_(value), file_(file), name_(std::move(name)) {}

  ReportValue at(const char* key) const {
    if (const auto found = find(key)) return *found;
    fail(fmt::format("{}/{} is missing", name_, key));
  }
  std::optional<ReportValue> find(const char* key) const {
    const JsonValue* found = value_.kind == JsonKind::kObject ? value_.find(key) : nullptr;
    if (!found) return std::nullopt;
    return ReportValue(*found, file_, fmt::format("{}/{}", name_, key));
  }
  std::string text() const { return expect(JsonKind::kString).text; }
  double number() const { return expect(JsonKind::kNumber).number(); }
  int64_t count() const {
    const std::optional<int64_t> count = expect(JsonKind::kNumber).integer();
    if (!count) fail(fmt::format("{} is not a whole number", name_));
    return *count;
  }
  const std::vector<JsonValue>& items() const { return expect(JsonKind::kArray).items; }
  const std::vector<JsonMember>& members() const { return expect(JsonKind::kObject).members; }
  ReportValue item(const JsonValue& value, std::string_view key) const {
    return {value, file_, fmt::format("{}/{}", name_, key)};
  }
  [[noreturn]] void fail(const std::string& problem) const {
    throw UserError("the file is not what `mtfc run --report` writes: " + problem,
                    "`mtfc report METRICS.jsonl --report FILE` takes the file of `mtfc run --report FILE`",
                    {file_, value_.place.line, value_.place.column, ""});
  }

 private:
  const JsonValue& expect(JsonKind kind) const {
    if (value_.kind != kind)
      fail(fmt::format("{} is {} instead of {}", name_.empty() ? "it" : name_, to_string(value_.kind),
                       to_string(kind)));
    return value_;
  }

  const JsonValue& value_;
  const std::string& file_;
  std::string name_;
};

// `rows:2,cols:2`, or `one device`.
std::string reported_mesh(const ReportValue& mesh) {
  std::string text;
  for (const JsonValue& axis : mesh.items()) {
    const ReportValue pair = mesh.item(axis, "axis");
    if (pair.items().size() != 2) pair.fail("an axis is not a name and a size");
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", pair.item(pair.items()[0], "name").text(),
                        pair.item(pair.items()[1], "size").count());
  }
  return text.empty() ? "one device" : text;
}

// `batch:rows,hidden:rows+cols`, or `no rules`.
std::string reported_layout(const std::optional<ReportValue>& layout) {
  std::string text;
  for (const JsonMember& rule : layout ? layout->members() : std::vector<JsonMember>{}) {
    std::string axes;
    const ReportValue list = layout->item(rule.value, rule.key);
    for (const JsonValue& axis : list.items())
      axes += (axes.empty() ? "" : "+") + list.item(axis, "axis").text();
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", rule.key, axes);
  }
  return text.empty() ? "no rules" : text;
}

std::string text_if_any(const std::optional<ReportValue>& value) {
  return value ? value->text() : "";
}

std::optional<double> number_if_any(const std::optional<ReportValue>& value) {
  return value ? std::optional(value->number()) : std::nullopt;
}

std::vector<TimedKind> timed_kinds(const ReportValue& by_kind) {
  std::vector<TimedKind> kinds;
  for (const JsonMember& member : by_kind.members()) {
    const ReportValue kind = by_kind.item(member.value, member.key);
    kinds.push_back({member.key, kind.at("steps").count(), kind.at("seconds").number(),
                     number_if_any(kind.find("predicted_seconds")),
                     number_if_any(kind.find("wait_seconds"))});
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const TimedKind& a, const TimedKind& b) { return a.seconds > b.seconds; });
  return kinds;
}

}  // namespace

bool is_run_report(std::string_view text) {
  const auto skip = [&](std::string_view word) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (!text.starts_with(word)) return false;
    text.remove_prefix(word.size());
    return true;
  };
  return skip("{") && skip("\"mtfc_run_report\"") && skip(":");
}

ReportedRun read_run_report(std::string_view text, const std::string& file) {
  const JsonValue json = parse_json(text, file);
  const ReportValue root(json, file);
  const ReportValue predicted = root.at("predicted"), facts = root.at("run"), time = facts.at("time");
  ReportedRun run;
  run.model = predicted.at("model").text();
  run.entry = predicted.at("entry").text();
  run.mesh = reported_mesh(predicted.at("mesh"));
  run.layout = reported_layout(predicted.find("layout"));
  run.command = text_if_any(facts.find("command"));
  run.host = text_if_any(facts.find("host"));
  run.date = text_if_any(facts.find("date"));
  if (const auto times = predicted.find("time")) run.hardware = times->at("hardware").text();
  run.ranks = facts.at("ranks").count();
  run.threads = facts.at("threads_per_rank").count();
  run.arena_bytes = facts.at("arena_bytes_per_device").count();
  run.resident_bytes = facts.at("resident_bytes").count();
  run.runs = time.at("runs").count();
  run.seconds_per_step = time.at("seconds_per_step").number();
  run.input_seconds = time.at("input_seconds").number();
  run.predicted_seconds_per_step = number_if_any(time.find("predicted_seconds_per_step"));
  run.kinds = timed_kinds(time.at("by_kind"));
  return run;
}

double other_seconds(const ReportedRun& run) {
  double rest = run.seconds_per_step - run.input_seconds;
  for (const TimedKind& kind : run.kinds) rest -= kind.seconds;
  return std::max(rest, 0.0);
}

}  // namespace mtfc
