#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/diagnostics/printable.h"
#include "core/diagnostics/suggest.h"
#include "formats/text/quantity.h"
#include "formats/text/wrapped_text.h"
#include "formats/validation/validation_writer.h"

namespace mtfc {
namespace {

std::string percent(double share) {
  return fmt::format("{:.1f}", 100 * share);
}

std::string percent_or_dash(const ErrorScore& score, double ErrorScore::*figure) {
  return score.count > 0 ? percent(score.*figure) : "-";
}

std::string source_name(const SourceScore& score) {
  return printable(score.source) + (score.is_simulated ? " (simulated)" : "");
}

std::vector<SourceScore> with_total(const ValidationScores& scores) {
  std::vector<SourceScore> all = scores.sources;
  all.push_back(scores.all);
  return all;
}

std::string time_table(const std::vector<SourceScore>& scores) {
  std::vector<std::vector<std::string>> rows = {{"step time", "rows", "priced", "stages", "timed", "mean %",
                                                 "median", "largest", "bias", "<=10 %", "picks", "worst pick",
                                                 "order"}};
  for (const SourceScore& score : scores) {
    const PickScore& picks = score.picks;
    rows.push_back(
        {source_name(score), grouped(score.rows), grouped(score.predicted), grouped(score.outside_stages),
         grouped(score.time.count), percent_or_dash(score.time, &ErrorScore::mean),
         percent_or_dash(score.time, &ErrorScore::median), percent_or_dash(score.time, &ErrorScore::largest),
         percent_or_dash(score.time, &ErrorScore::bias),
         percent_or_dash(score.time, &ErrorScore::within_tenth),
         picks.groups > 0 ? fmt::format("{}/{}", picks.good, picks.groups) : "-",
         picks.groups > 0 ? percent(picks.worst) : "-", picks.groups > 0 ? percent(picks.rank) : "-"});
  }
  return columns(rows, 1);
}

std::string band_table(const std::vector<SourceScore>& scores) {
  std::vector<std::vector<std::string>> rows = {{"mean error by MFU"}};
  for (size_t i = 0; i < std::size(kEfficiencyBands); ++i)
    rows[0].push_back(i == 0 ? fmt::format("below {:g} %", 100 * kEfficiencyBands[1])
                             : fmt::format("from {:g} %", 100 * kEfficiencyBands[i]));
  for (const SourceScore& score : scores) {
    if (score.time.count == 0) continue;
    rows.push_back({source_name(score)});
    for (const ErrorScore& band : score.time_by_band)
      rows.back().push_back(band.count > 0 ? fmt::format("{} ({})", percent(band.mean), band.count) : "-");
  }
  return rows.size() > 1 ? "\n" + columns(rows, 1) : "";
}

std::string memory_table(const std::vector<SourceScore>& scores) {
  std::vector<std::vector<std::string>> rows = {{"memory", "rows", "mean %", "median", "largest", "bias",
                                                 "<=10 %", "ok: fits", "exceeds", "failed: fits", "exceeds"}};
  for (const SourceScore& score : scores) {
    const FitScore& fit = score.fit;
    if (score.memory.count == 0 && fit.oom_fits + fit.oom_exceeds + fit.ok_exceeds == 0) continue;
    rows.push_back({source_name(score), grouped(score.memory.count),
                    percent_or_dash(score.memory, &ErrorScore::mean),
                    percent_or_dash(score.memory, &ErrorScore::median),
                    percent_or_dash(score.memory, &ErrorScore::largest),
                    percent_or_dash(score.memory, &ErrorScore::bias),
                    percent_or_dash(score.memory, &ErrorScore::within_tenth), grouped(fit.ok_fits),
                    grouped(fit.ok_exceeds), grouped(fit.oom_fits), grouped(fit.oom_exceeds)});
  }
  return rows.size() > 1 ? "\n" + columns(rows, 1) : "";
}

std::string refused_text(const std::vector<SourceScore>& scores, size_t width) {
  std::string text;
  for (const SourceScore& score : scores) {
    std::string list;
    for (const auto& [feature, count] : score.refused)
      list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", printable(feature), count);
    if (!list.empty()) text += wrapped("", fmt::format("{} needs {}", source_name(score), list), "  ", width);
  }
  return text.empty() ? "" : "\nrefused, by the feature that rows need:\n" + text;
}

std::string parts_text(const RowResult& result) {
  std::vector<std::pair<std::string, double>> parts(result.parts_s.begin(), result.parts_s.end());
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.second) > std::abs(b.second); });
  std::string text;
  for (const auto& [part, seconds] : parts)
    if (std::abs(seconds) >= 0.01 * result.seconds)
      text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", printable(part),
                          100 * seconds / result.seconds);
  return text;
}

std::string worst_text(const ValidationReport& report, size_t width) {
  std::string text;
  for (const size_t index : report.scores.worst) {
    const RowResult& result = report.results[index];
    text += wrapped(
        "",
        fmt::format("{} {}: {} for {} measured, {}{} %; {}", printable(result.row.source),
                    printable(result.row.id), seconds_text(result.seconds), seconds_text(*result.row.seconds),
                    result.time_error() > 0 ? "+" : "", percent(result.time_error()), parts_text(result)),
        "  ", width);
  }
  return text.empty() ? "" : "\nthe rows that err most, and what their predictions consist of:\n" + text;
}

std::string fit_text_of(const FitSummary& fit, size_t width) {
  std::string text = fmt::format("\nfitted on {} rows with {}:\n", fit.rows.size(), printable(fit.on));
  for (const FittedKey& key : fit.keys)
    text += fmt::format("  {}: {:.4g} -> {:.4g}\n", printable(key.key), key.before, key.after);
  const auto line = [](const char* what, const ErrorScore& before, const ErrorScore& after) {
    return fmt::format(
        "mean (median) error of {}: {} ({}) % before, {} ({}) % after, {} rows", what,
        percent_or_dash(before, &ErrorScore::mean), percent_or_dash(before, &ErrorScore::median),
        percent_or_dash(after, &ErrorScore::mean), percent_or_dash(after, &ErrorScore::median), after.count);
  };
  text += wrapped("  ", line("these rows", fit.before_on, fit.after_on), "  ", width);
  text += wrapped("  ", line("the other rows", fit.before_rest, fit.after_rest), "  ", width);
  for (const auto& [source, score] : fit.without_source)
    text += wrapped(
        "  ",
        fmt::format("{}, fitted without its own rows: {} ({}) %", printable(source),
                    percent_or_dash(score, &ErrorScore::mean), percent_or_dash(score, &ErrorScore::median)),
        "  ", width);
  return text;
}

std::string bars_text(const std::vector<ErrorBar>& bars) {
  std::string text;
  for (const ErrorBar& bar : bars)
    text += fmt::format(
        "{}: the {} of {} is {}, and at most {} % is allowed\n", bar.is_missed() ? "missed" : "kept",
        bar.of == "time"     ? "mean error of times"
        : bar.of == "median" ? "median error of times"
                             : "mean error of memory",
        printable(bar.source), bar.found ? percent(*bar.found) + " %" : "not known", percent(bar.limit));
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

ErrorBar parse_error_bar(const std::string& text) {
  const size_t equals = text.rfind('=');
  ErrorBar bar;
  bar.of = "time";
  const char *begin = text.data() + (equals == std::string::npos ? 0 : equals + 1),
             *end = text.data() + text.size();
  if (equals == std::string::npos || equals == 0 || std::from_chars(begin, end, bar.limit).ptr != end ||
      !(bar.limit >= 0))
    throw UserError(fmt::format("--bar: '{}' is not of the form SOURCE=PERCENT", text),
                    "as in vtrain=7, vtrain.median=3 or vtrain.memory=8");
  bar.limit /= 100;
  bar.source = text.substr(0, equals);
  for (const char* of : {"median", "memory"})
    if (bar.source.ends_with(std::string(".") + of)) {
      bar.of = of;
      bar.source.resize(bar.source.size() - bar.of.size() - 1);
    }
  return bar;
}

void measure(ErrorBar& bar, const ValidationScores& scores) {
  std::vector<std::string> names = {"all"};
  const SourceScore* found = bar.source == "all" ? &scores.all : nullptr;
  for (const SourceScore& score : scores.sources) {
    names.push_back(score.source);
    if (score.source == bar.source) found = &score;
  }
  if (!found)
    throw UserError(fmt::format("--bar: no row is of the source '{}'", bar.source),
                    did_you_mean(bar.source, names));
  const ErrorScore& score = bar.of == "memory" ? found->memory : found->time;
  if (score.count > 0) bar.found = bar.of == "median" ? score.median : score.mean;
}

std::string validation_text(const ValidationReport& report, size_t width) {
  const std::vector<SourceScore> all = with_total(report.scores);
  std::string text = time_table(all) + band_table(all) + memory_table(all);
  if (report.scores.all.outside_stages > 0)
    text +=
        "\n" + wrapped("",
                       fmt::format("stages from outside: {} rows are pipelines, whose stages are priced as "
                                   "shares of one program and put together by arithmetic",
                                   report.scores.all.outside_stages),
                       "  ", width);
  text += refused_text(report.scores.sources, width) + worst_text(report, width);
  if (report.fit) text += fit_text_of(*report.fit, width);
  return text + bars_text(report.bars);
}

}  // namespace mtfc
