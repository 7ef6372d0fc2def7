#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "formats/report/html_page.h"
#include "formats/text/quantity.h"
#include "formats/validation/validation_writer.h"

namespace mtfc {
namespace {

Json share_figure(double share) {
  return figure(share, fmt::format("{:.1f} %", 100 * share));
}

Json share_figure(const ErrorScore& score, double ErrorScore::*figure) {
  return score.count > 0 ? share_figure(score.*figure) : Json();
}

const std::vector<const char*> kTimeHeads = {"rows",       "priced",     "timed",   "mean error",
                                             "median",     "largest",    "bias",    "within 10 %",
                                             "good picks", "worst pick", "in order"};

Json time_cells(const SourceScore& score) {
  const PickScore& picks = score.picks;
  const bool has_picks = picks.groups > 0;
  return Json::array(
      {figure(score.rows), figure(score.predicted), figure(score.time.count),
       share_figure(score.time, &ErrorScore::mean), share_figure(score.time, &ErrorScore::median),
       share_figure(score.time, &ErrorScore::largest), share_figure(score.time, &ErrorScore::bias),
       share_figure(score.time, &ErrorScore::within_tenth),
       has_picks ? figure(static_cast<double>(picks.good) / static_cast<double>(picks.groups),
                          fmt::format("{} of {}", picks.good, picks.groups))
                 : Json(),
       has_picks ? share_figure(picks.worst) : Json(), has_picks ? share_figure(picks.rank) : Json()});
}

Json band_cells(const SourceScore& score) {
  Json cells = Json::array();
  for (const ErrorScore& band : score.time_by_band)
    cells.push_back(band.count > 0
                        ? figure(band.mean, fmt::format("{:.1f} % ({})", 100 * band.mean, band.count))
                        : Json());
  return cells;
}

const std::vector<const char*> kMemoryHeads = {"rows",         "mean error",  "median",           "largest",
                                               "bias",         "within 10 %", "ended well: fits", "exceeds",
                                               "failed: fits", "exceeds"};

Json memory_cells(const SourceScore& score) {
  return Json::array(
      {figure(score.memory.count), share_figure(score.memory, &ErrorScore::mean),
       share_figure(score.memory, &ErrorScore::median), share_figure(score.memory, &ErrorScore::largest),
       share_figure(score.memory, &ErrorScore::bias), share_figure(score.memory, &ErrorScore::within_tenth),
       figure(score.fit.ok_fits), figure(score.fit.ok_exceeds), figure(score.fit.oom_fits),
       figure(score.fit.oom_exceeds)});
}

Json source_json(const SourceScore& score, const std::vector<RowResult>& results) {
  Json points = Json::array();
  for (const RowResult& result : results)
    if (result.row.source == score.source && result.has_time() && result.seconds > 0 &&
        (result.row.kind == RowKind::kSimulated) == score.is_simulated)
      points.push_back(Json::array({rounded(*result.row.seconds, 4), rounded(result.seconds, 4)}));
  const bool has_memory = score.memory.count > 0 || score.fit.oom_fits + score.fit.oom_exceeds > 0;
  return {{"name", score.source},
          {"isSimulated", score.is_simulated},
          {"points", std::move(points)},
          {"time", score.predicted > 0 ? time_cells(score) : Json()},
          {"bands", score.time.count > 0 ? band_cells(score) : Json()},
          {"memory", has_memory ? memory_cells(score) : Json()}};
}

Json worst_json(const RowResult& result) {
  std::vector<std::pair<std::string, double>> parts(result.parts_s.begin(), result.parts_s.end());
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.second) > std::abs(b.second); });
  std::string text;
  Json bars = Json::array();
  for (const auto& [part, seconds] : parts) {
    if (std::abs(seconds) < 0.01 * result.seconds) continue;
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", part, 100 * seconds / result.seconds);
    if (seconds > 0) bars.push_back(Json::array({part, rounded(seconds / result.seconds)}));
  }
  return {{"name", result.row.source + " " + result.row.id},
          {"predicted", seconds_figure(result.seconds)},
          {"measured", seconds_figure(*result.row.seconds)},
          {"error", share_figure(result.time_error())},
          {"parts", std::move(bars)},
          {"consists", text}};
}

// The parts of all worst rows, those first that take most.
Json part_names(const ValidationReport& report) {
  std::map<std::string, double> sums;
  for (const size_t index : report.scores.worst)
    for (const auto& [part, seconds] : report.results[index].parts_s)
      if (seconds >= 0.01 * report.results[index].seconds)
        sums[part] += seconds / report.results[index].seconds;
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [part, sum] : sums) order.emplace_back(-sum, part);
  std::sort(order.begin(), order.end());
  return json_list(order, [](const auto& part) { return Json(part.second); });
}

Json fit_json_of(const FitSummary& fit) {
  Json keys = Json::array(), notes = Json::array();
  for (const FittedKey& key : fit.keys)
    keys.push_back(Json::array({key.key, figure(key.before, fmt::format("{:.4g}", key.before)),
                                figure(key.after, fmt::format("{:.4g}", key.after))}));
  const auto note = [&](const char* what, const ErrorScore& before, const ErrorScore& after) {
    if (after.count > 0)
      notes.push_back(
          fmt::format("The mean error of {} {} was {:.1f} % before and is {:.1f} % after; the median was "
                      "{:.1f} % and is {:.1f} %.",
                      grouped(after.count), what, 100 * before.mean, 100 * after.mean, 100 * before.median,
                      100 * after.median));
  };
  note("rows that it was fitted on", fit.before_on, fit.after_on);
  note("other rows", fit.before_rest, fit.after_rest);
  for (const auto& [source, score] : fit.without_source)
    if (score.count > 0)
      notes.push_back(fmt::format("Fitted without rows of {}, the mean error of these is {:.1f} %.", source,
                                  100 * score.mean));
  return {{"about",
           fmt::format("Fitted on {} rows with {}; a curve is scaled as a whole.", fit.rows.size(), fit.on)},
          {"keys", std::move(keys)},
          {"notes", std::move(notes)},
          {"rows", fit.rows}};
}

std::string verdict(const ValidationReport& report) {
  const SourceScore& all = report.scores.all;
  if (all.time.count == 0)
    return fmt::format("{} of {} rows can be expressed; none has a step time.", grouped(all.predicted),
                       grouped(all.rows));
  return fmt::format(
      "The step times of {} published runs are predicted with a mean error of {:.1f} % (median {:.1f} %); "
      "{:.0f} % of them are within a tenth. {} of {} rows can be expressed.",
      grouped(all.time.count), 100 * all.time.mean, 100 * all.time.median, 100 * all.time.within_tenth,
      grouped(all.predicted), grouped(all.rows));
}

Json tiles(const SourceScore& all) {
  Json list = Json::array();
  const auto add = [&](const char* name, const std::string& text) {
    list.push_back(Json::array({name, text}));
  };
  const auto share = [](double value) { return fmt::format("{:.1f} %", 100 * value); };
  if (all.time.count > 0) add("mean error of step times", share(all.time.mean));
  if (all.time.count > 0) add("median error of step times", share(all.time.median));
  if (all.picks.groups > 0)
    add("good picks of layouts", fmt::format("{} of {}", all.picks.good, all.picks.groups));
  if (all.memory.count > 0) add("mean error of memory", share(all.memory.mean));
  const auto ended = static_cast<double>(all.fit.ok_fits + all.fit.ok_exceeds);
  if (ended > 0) add("runs that ended well and fit", share(static_cast<double>(all.fit.ok_fits) / ended));
  const auto failed = static_cast<double>(all.fit.oom_fits + all.fit.oom_exceeds);
  if (failed > 0)
    add("failed runs that do not fit", share(static_cast<double>(all.fit.oom_exceeds) / failed));
  return list;
}

Json band_heads() {
  Json heads = Json::array();
  for (size_t i = 0; i < std::size(kEfficiencyBands); ++i)
    heads.push_back(i == 0 ? fmt::format("below {:g} %", 100 * kEfficiencyBands[1])
                           : fmt::format("from {:g} %", 100 * kEfficiencyBands[i]));
  return heads;
}

Json bars_json(const std::vector<ErrorBar>& bars) {
  return json_list(bars, [](const ErrorBar& bar) {
    return Json::array(
        {fmt::format("{}: {} of {} is {}, at most {:.1f} %", bar.is_missed() ? "Missed" : "Kept", bar.of,
                     bar.source, bar.found ? fmt::format("{:.1f} %", 100 * *bar.found) : "not known",
                     100 * bar.limit),
         bar.is_missed()});
  });
}

}  // namespace

std::string validation_html(const ValidationReport& report) {
  Json sources = Json::array(), refused = Json::array(), worst = Json::array();
  for (const SourceScore& score : report.scores.sources) {
    sources.push_back(source_json(score, report.results));
    for (const auto& [feature, count] : score.refused)
      refused.push_back(Json::array({score.source, feature, figure(count)}));
  }
  for (const size_t index : report.scores.worst) worst.push_back(worst_json(report.results[index]));
  const std::string stages = report.scores.all.outside_stages > 0
                                 ? fmt::format(
                                       "Stages from outside: {} rows are pipelines, whose stages are priced "
                                       "as shares of one program "
                                       "and put together by arithmetic.",
                                       grouped(report.scores.all.outside_stages))
                                 : "";
  const Json data = {{"page", "validation"},
                     {"title", "Predictions and published runs"},
                     {"verdict", verdict(report)},
                     {"figures", tiles(report.scores.all)},
                     {"bars", bars_json(report.bars)},
                     {"stages", stages},
                     {"timeHeads", kTimeHeads},
                     {"bandHeads", band_heads()},
                     {"memoryHeads", kMemoryHeads},
                     {"sources", std::move(sources)},
                     {"total", source_json(report.scores.all, {})},
                     {"worst", std::move(worst)},
                     {"parts", part_names(report)},
                     {"refused", std::move(refused)},
                     {"fit", report.fit ? fit_json_of(*report.fit) : Json()},
                     {"command", report.command + " -o page.html"}};
  return html_page("mtfc validate", data, validation_text(report, 100));
}

}  // namespace mtfc
