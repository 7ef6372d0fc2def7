#include "formats/report/metrics_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/diagnostics/enum_names.h"
#include "formats/json/json_value.h"

namespace mtfc {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

class MetricsReader {
 public:
  explicit MetricsReader(const std::string& file) { log_.file = file; }

  // Returns false if the text is not a line of a log.
  bool add(std::string_view text) {
    ++line_;
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) return true;
    const std::optional<JsonValue> json = find_json(text);
    if (!json || json->kind != JsonKind::kObject) return false;
    const JsonValue* step = json->find("step");
    const std::optional<int64_t> number =
        step && step->kind == JsonKind::kNumber ? step->integer() : std::nullopt;
    if (!number || *number < 0) return false;
    go_back(*number);
    log_.steps.push_back(*number);
    for (const JsonMember& member : json->members)
      if (member.key != "step") column_of(member.key).values.push_back(number_of(member));
    for (MetricsColumn& column : log_.columns) column.values.resize(log_.steps.size(), kMissing);
    return true;
  }

  [[noreturn]] void fail(const std::string& message, const std::string& hint = "") const {
    throw UserError(message, hint, {log_.file, line_, 1, ""});
  }

  MetricsLog take() { return std::move(log_); }

 private:
  // Forgets this step and all later ones.
  void go_back(int64_t step) {
    if (log_.steps.empty() || log_.steps.back() < step) return;
    const auto kept = std::lower_bound(log_.steps.begin(), log_.steps.end(), step) - log_.steps.begin();
    log_.steps.resize(static_cast<size_t>(kept));
    for (MetricsColumn& column : log_.columns) column.values.resize(static_cast<size_t>(kept));
  }

  MetricsColumn& column_of(const std::string& key) {
    const auto [at, is_new] = positions_.emplace(key, log_.columns.size());
    if (is_new) log_.columns.push_back({key, std::vector<double>(log_.steps.size() - 1, kMissing)});
    return log_.columns[at->second];
  }

  double number_of(const JsonMember& member) const {
    if (member.value.kind == JsonKind::kNumber) return member.value.number();
    if (member.value.kind != JsonKind::kNull)
      fail(fmt::format("'{}' is {}, but metrics are numbers", member.key, to_string(member.value.kind)));
    return kMissing;
  }

  MetricsLog log_;
  std::map<std::string, size_t> positions_;  // of columns
  int line_ = 0;
};

}  // namespace

const MetricsColumn* MetricsLog::find(std::string_view name) const {
  const auto at = std::find_if(columns.begin(), columns.end(),
                               [&](const MetricsColumn& column) { return column.name == name; });
  return at == columns.end() ? nullptr : &*at;
}

MetricsLog read_metrics(std::string_view text, const std::string& file, std::vector<Diagnostic>& warnings) {
  MetricsReader reader(file);
  int lines = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const bool is_complete = end < text.size();
    ++lines;
    if (!reader.add(text.substr(0, end))) {
      if (is_complete)
        reader.fail("this line is not one that `mtfc run --metrics` writes",
                    "each is an object of numbers, as in {\"step\": 1, \"loss\": 2.3}");
      warnings.push_back(
          {{file, lines, 1, ""},
           "the last line is not complete, and is left out: the run was killed, or still goes on",
           "",
           Severity::kWarning});
    }
    text.remove_prefix(is_complete ? end + 1 : end);
  }
  MetricsLog log = reader.take();
  if (log.steps.empty())
    throw UserError("the file has no steps", "`mtfc run --metrics FILE` writes a line for each",
                    {file, 0, 0, ""});
  return log;
}

std::vector<double> elapsed_seconds(const MetricsLog& log) {
  const MetricsColumn* wall = log.find("wall_time");
  if (!wall) return {};
  std::vector<double> elapsed;
  double before = 0, last = 0;  // seconds of earlier processes; of this one so far
  for (const double seconds : wall->values) {
    if (!std::isfinite(seconds)) return {};
    if (seconds < last) before += last;
    last = seconds;
    elapsed.push_back(before + seconds);
  }
  return elapsed;
}

}  // namespace mtfc
