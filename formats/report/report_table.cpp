#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "core/cost/part_times.h"
#include "core/cost/step_groups.h"
#include "core/diagnostics/printable.h"
#include "formats/report/html_page.h"
#include "formats/report/report_figures.h"
#include "formats/report/report_writer.h"
#include "formats/text/quantity.h"
#include "formats/text/wrapped_text.h"

namespace mtfc {
namespace {

std::vector<size_t> as_given(size_t count) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

using Reports = std::vector<const CostReport*>;
using Cell = std::function<std::string(const CostReport&)>;

// A line of the table: a label and one cell per report.
struct Row {
  std::string label;
  Cell cell;
  bool judges = false;  // it says whether a layout fits
};

// Lines in red, each on its own, so that a pager shows them.
std::string in_red(const std::string& lines, bool color) {
  if (!color) return lines;
  std::string text;
  for (size_t from = 0; from < lines.size();) {
    const size_t end = std::min(lines.find('\n', from), lines.size());
    text += "\033[1;31m" + lines.substr(from, end - from) + "\033[0m" + (end < lines.size() ? "\n" : "");
    from = end + 1;
  }
  return text;
}

CollectiveTotals total_of(const std::map<std::string, CollectiveTotals>& map, const std::string& key) {
  const auto at = map.find(key);
  return at == map.end() ? CollectiveTotals{} : at->second;
}

void add_collective_rows(std::vector<Row>& rows, const Reports& reports,
                         std::map<std::string, CollectiveTotals> CommunicationCost::*map,
                         const std::string& label) {
  std::set<std::string> keys;
  for (const CostReport* report : reports)
    for (const auto& [key, totals] : report->communication.*map) keys.insert(key);
  for (const std::string& key : keys)
    rows.push_back({fmt::format("  {}{}", label, printable(key)), [key, map](const CostReport& report) {
                      return bytes_in(report, total_of(report.communication.*map, key).bytes_sent);
                    }});
}

// Adds a row that says whether the memory of a device is enough: in words for one report, in percent for several.
void add_fit_row(std::vector<Row>& rows, const Reports& reports) {
  const int64_t device = reports.front()->device_memory;
  if (device == 0) return;
  if (reports.size() == 1)
    rows.push_back({"  of a device's memory",
                    [](const CostReport& r) { return fit_text(r.memory.peak, r.device_memory); }, true});
  else
    rows.push_back({"  of a device's " + memory_text(device), [](const CostReport& r) {
                      const double percent =
                          100 * static_cast<double>(r.memory.peak) / static_cast<double>(r.device_memory);
                      return percent < 0.05 ? std::string("< 0.1 %") : fmt::format("{:.1f} %", percent);
                    }});
}

// The share of each group of variables in the row before.
void add_group_rows(std::vector<Row>& rows, const Reports& reports, int64_t GroupMemory::*bytes) {
  std::set<std::string> names;
  for (const CostReport* report : reports)
    for (const auto& [name, group] : report->memory.groups) names.insert(name);
  for (const std::string& name : names)
    rows.push_back({"    of which " + printable(name), [name, bytes](const CostReport& report) {
                      const auto found = report.memory.groups.find(name);
                      return bytes_in(report, found == report.memory.groups.end() ? 0 : found->second.*bytes);
                    }});
}

Row row_of(const ReportFigure& figure) {
  return {figure.label, [&figure](const CostReport& report) { return figure_text(figure, report); }};
}

bool has(const Reports& reports, const ReportFigure& figure) {
  return std::any_of(reports.begin(), reports.end(),
                     [&](const CostReport* report) { return figure.of(*report).has_value(); });
}

// The lines of the figures that some report has.
void add_figures(std::vector<Row>& rows, const Reports& reports, std::string_view group) {
  for (const ReportFigure& figure : figures_of(group))
    if (*figure.label && has(reports, figure)) rows.push_back(row_of(figure));
}

void add_plan_rows(std::vector<Row>& rows, const Reports& reports) {
  using Given = const CostReport&;
  if (std::any_of(reports.begin(), reports.end(), [](const CostReport* r) { return r->plan.has_value(); })) {
    rows.push_back({"plan cost", [](Given r) {
                      const bool timed = r.plan && !r.plan->hardware.empty();
                      return timed ? seconds_text(plan_seconds(*r.plan)) : grouped(plan_cost(r));
                    }});
    rows.push_back(
        {"  above the bound by", [](Given r) { return r.plan ? plan_gap_text(*r.plan) : std::string("-"); }});
  }
  add_figures(rows, reports, "recomputation");
  const auto is_remade = [](const CostReport* r) { return r->recomputation.has_value(); };
  if (std::any_of(reports.begin(), reports.end(), is_remade))
    rows.push_back({"  above the bound by", [](Given r) {
                      if (!r.recomputation) return std::string("-");
                      const Recomputation& made = *r.recomputation;
                      return seconds_text(made.is_best ? 0
                                                       : std::max(0.0, made.seconds - made.least_seconds));
                    }});
}

void add_memory_rows(std::vector<Row>& rows, const Reports& reports) {
  const auto has = [&](int64_t MemoryCost::*part) {
    return std::any_of(reports.begin(), reports.end(),
                       [&](const CostReport* r) { return r->memory.*part > 0; });
  };
  const bool has_caches = has(&MemoryCost::caches), has_copies = has(&MemoryCost::variable_copies);
  for (const ReportFigure& figure : figures_of("memory")) {
    const std::string_view pointer = figure.pointer;
    if (!*figure.label || (pointer == "/memory/caches" && !has_caches)) continue;
    if (pointer == "/memory/variable_copies" && !has_copies) continue;
    rows.push_back(row_of(figure));
    if (pointer == "/memory/peak_bytes_per_device") add_fit_row(rows, reports);
    if (pointer == "/memory/variables") add_group_rows(rows, reports, &GroupMemory::variables);
    if (pointer == "/memory/optimizer_state") add_group_rows(rows, reports, &GroupMemory::optimizer_state);
  }
}

std::vector<Row> total_rows(const Reports& reports) {
  std::vector<Row> rows = {{"devices", [](const CostReport& r) { return grouped(r.layout.mesh.devices()); }}};
  if (std::all_of(reports.begin(), reports.end(), [](const CostReport* r) { return r->time.has_value(); }))
    for (const char* group : {"time", "training"}) add_figures(rows, reports, group);
  for (const char* group : {"parameters", "flops", "communication"}) add_figures(rows, reports, group);
  add_collective_rows(rows, reports, &CommunicationCost::by_kind, "");
  add_collective_rows(rows, reports, &CommunicationCost::by_axis, "over ");
  add_figures(rows, reports, "communication/between_nodes");
  add_plan_rows(rows, reports);
  add_memory_rows(rows, reports);
  return rows;
}

// At most `width` characters of `text`; drops the middle, which says least about a tensor of a nested block.
std::string shortened(const std::string& text, size_t width) {
  if (text.size() <= width) return text;
  const size_t tail = width / 2;
  return text.substr(0, width - tail - 2) + ".." + text.substr(text.size() - tail);
}

std::string mesh_text(const Layout& layout) {
  return layout.mesh.axes().empty() ? "one device" : printable(to_string(layout.mesh));
}
std::string rules_text(const Layout& layout) {
  return printable(described(layout));
}

// Which cells the rows of steps have beside those that they always have.
struct StepCells {
  bool phase = false;
  bool count = false;
};

// The table's cells for steps of repeated blocks, or for a single step: the time if there is one.
std::vector<std::string> step_cells(const CostReport& report, const StepGroup& group, const StepCells& with) {
  const StepCost& step = group.sum;
  std::vector<std::string> cells = {printable(folded_name(group)), printable(step.kind)};
  if (with.phase) cells.push_back(to_string(step.phase));
  if (with.count) cells.push_back(std::to_string(group.members.size()));
  if (report.time) cells.push_back(seconds_text(step.time.seconds));
  const std::string axes = report.layout.mesh.names(step.axes);
  cells.push_back(step.count.flops > 0 ? count_text(step.count.flops, "") : "");
  cells.push_back(axes.empty() ? "" : bytes_in(report, step.count.bytes_sent));
  cells.push_back(axes);
  return cells;
}

// Drops the columns in which only the head says something.
void drop_blank_columns(std::vector<std::vector<std::string>>& rows) {
  for (size_t column = rows[0].size(); column-- > 0;) {
    const auto is_blank = [&](const std::vector<std::string>& row) { return row[column].empty(); };
    if (rows.size() < 2 || !std::all_of(rows.begin() + 1, rows.end(), is_blank)) continue;
    for (auto& row : rows) row.erase(row.begin() + static_cast<ptrdiff_t>(column));
  }
}

constexpr size_t kWideEnough = 76;  // for the phase of a step
constexpr size_t kWideEnoughForAll =
    90;  // for its phase and a count, beside the longer names of repeated blocks
constexpr size_t kLeastName = 12;

std::string steps_text(const CostReport& report, const TableOptions& options) {
  const std::vector<StepGroup> groups = costliest_groups(report);
  const size_t shown = std::min(options.top, groups.size());
  if (shown == 0) return "";
  const auto end = groups.begin() + static_cast<ptrdiff_t>(shown);
  StepCells with;
  with.count = std::any_of(groups.begin(), end, [](const auto& group) { return group.members.size() > 1; });
  with.phase = options.width >= (with.count ? kWideEnoughForAll : kWideEnough);
  std::vector<std::vector<std::string>> rows = {{"step", "kind"}};
  if (with.phase) rows[0].push_back("phase");
  if (with.count) rows[0].push_back("count");
  if (report.time) rows[0].push_back("time");
  for (const char* head : {"FLOP", "sent", "over"}) rows[0].push_back(head);
  for (auto group = groups.begin(); group != end; ++group) rows.push_back(step_cells(report, *group, with));
  drop_blank_columns(rows);
  size_t fixed = 2;
  for (size_t c = 1; c < rows[0].size(); ++c) {
    size_t most = 0;
    for (const auto& row : rows) most = std::max(most, row[c].size());
    fixed += most + 2;
  }
  const size_t room = options.width > fixed + kLeastName ? options.width - fixed : kLeastName;
  for (auto& row : rows) row[0] = shortened(row[0], room);
  const std::string head =
      fmt::format("costliest steps, {} of {}{}", shown, groups.size(),
                  with.count ? "; figures are sums over all steps that a row counts" : "");
  return "\n" + wrapped("", head, " ", options.width) + columns(rows, with.phase ? 3 : 2);
}

// The time of each part of the model beside the least that the hardware's peak rates would permit.
std::string parts_text(const CostReport& report, const TableOptions& options) {
  if (options.parts == 0 || !report.time) return "";
  std::vector<std::vector<std::string>> rows = {{"part", "kernels", "collectives", "at peak", "share"}};
  for (const PartTime& part : part_times(report, options.parts)) {
    const double together = part.kernels_s + part.collectives_s;
    rows.push_back({shortened(part.part.empty() ? "(no block)" : printable(part.part), options.width - 46),
                    seconds_text(part.kernels_s),
                    part.collectives_s > 0 ? seconds_text(part.collectives_s) : "",
                    seconds_text(part.at_peak_s),
                    together > 0 ? fmt::format("{:.0f} %", 100 * part.at_peak_s / together) : ""});
  }
  return "\ntime by part\n" + columns(rows, 1);
}

std::string alive_text(const CostReport& report, const TableOptions& options) {
  const std::vector<AliveTensor>& alive = report.alive_at_peak;
  const size_t count = std::min(options.top, alive.size());
  if (count == 0) return "";
  std::vector<std::vector<std::string>> rows;
  int64_t rest = 0;
  for (size_t i = 0; i < alive.size(); ++i)
    if (i < count)
      rows.push_back({shortened(printable(alive[i].name), options.width - 32), alive[i].kind,
                      bytes_in(report, alive[i].bytes)});
    else
      rest += alive[i].bytes;
  if (alive.size() > count)
    rows.push_back({fmt::format("{} more", grouped(static_cast<int64_t>(alive.size() - count))), "",
                    bytes_in(report, rest)});
  const std::string where = report.memory.peak_step.empty()
                                ? ""
                                : shortened(printable(report.memory.peak_step), options.width - 34);
  return fmt::format("\ntensors alive at the peak{}\n", where.empty() ? "" : ", in " + where) +
         columns(rows, 2);
}

// The totals of `reports`, each under its number if there are several: as many side by side as fit, and the next
// below them.
std::string totals_text(const Reports& reports, const std::vector<std::string>& marks,
                        const TableOptions& options) {
  const size_t width = options.width;
  const std::vector<Row> rows = total_rows(reports);
  size_t label_width = 0, cell_width = 8;
  for (const Row& row : rows) {
    label_width = std::max(label_width, row.label.size());
    for (const CostReport* report : reports) cell_width = std::max(cell_width, row.cell(*report).size());
  }
  label_width = std::min({label_width, size_t{40}, width > cell_width + 2 ? width - cell_width - 2 : 1});
  const size_t beside =
      std::min(reports.size(), std::max<size_t>(1, (width - label_width) / (cell_width + 2)));
  std::string text;
  for (size_t first = 0; first < reports.size(); first += beside) {
    const size_t end = std::min(first + beside, reports.size());
    text += "\n";
    if (reports.size() > 1) {
      text += std::string(label_width, ' ');
      for (size_t i = first; i < end; ++i) text += fmt::format("  {:>{}}", marks[i], cell_width);
      text += "\n";
    }
    for (const Row& row : rows) {
      std::string line = fmt::format("{:<{}.{}}", row.label, label_width, label_width);
      for (size_t i = first; i < end; ++i) line += fmt::format("  {:>{}}", row.cell(*reports[i]), cell_width);
      text += in_red(line, options.color && row.judges && excess_memory(*reports[first]) > 0) + "\n";
    }
  }
  return text;
}

// The device order that a layout file would need for a shorter step.
std::string order_text(const ComparedLayout& layout, const std::string& number, const TableOptions& options) {
  if (!layout.order) return "";
  std::string ranks;
  for (const int64_t rank : layout.order->device_order)
    if (ranks.size() < 40) ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", rank);
  if (layout.order->device_order.size() > 12) ranks += ", ...";
  return "\n" +
         wrapped("",
                 fmt::format("{}with axis {} inside the nodes, a step takes {}: \"device_order\": [{}]{}",
                             number, layout.order->axes.back(), seconds_text(layout.order->step_s), ranks,
                             ranks.ends_with("...") ? " (the JSON has the whole list)" : ""),
                 " ", options.width);
}

// `3 layouts`; of a search that was stopped, `the best 3 of 120 layouts tried`.
std::string number_of_layouts(size_t layouts, const TableOptions& options) {
  if (options.tried == 0) return fmt::format("{} layout{}", layouts, layouts == 1 ? "" : "s");
  return fmt::format("the best {}of {} layout{} tried", layouts == 1 ? "" : fmt::format("{} ", layouts),
                     grouped(options.tried), options.tried == 1 ? "" : "s");
}

std::string single_text(const ComparedLayout& layout, const TableOptions& options) {
  const CostReport& report = *layout.report;
  std::string text = fmt::format("{}, {}{}\n", printable(report.model), printable(report.entry),
                                 options.tried > 0 ? ": " + number_of_layouts(1, options) : "");
  text += wrapped("mesh   ", mesh_text(report.layout), ",", options.width);
  text += wrapped("layout ", rules_text(report.layout), ",", options.width);
  return text + totals_text({&report}, {""}, options) + order_text(layout, "", options) +
         parts_text(report, options) + steps_text(report, options) + alive_text(report, options);
}

// Each layout's line has the properties that differ; the lines above have those that all layouts share.
class RankingText {
 public:
  RankingText(const std::vector<ComparedLayout>& layouts, const TableOptions& options)
      : layouts_(layouts),
        options_(options),
        order_(options.in_order ? as_given(layouts.size()) : best_first(layouts)) {
    const auto alike = [&](auto property) {
      return std::all_of(layouts.begin(), layouts.end(), [&](const ComparedLayout& layout) {
        return property(layout.layout) == property(layouts.front().layout);
      });
    };
    same_mesh_ = alike(mesh_text);
    same_rules_ = alike(rules_text);
    timed_ = layouts_[order_.front()].report->time.has_value();
    judges_ = std::any_of(layouts.begin(), layouts.end(), [](const ComparedLayout& layout) {
      return layout.report && excess_memory(*layout.report) > 0;
    });
    has_best_ = has_best(layouts);
    const auto possible_layouts =
        static_cast<size_t>(std::count_if(layouts.begin(), layouts.end(), [](const ComparedLayout& layout) {
          return layout.report.has_value();
        }));
    has_totals_ = options.totals && possible_layouts > 1 && possible_layouts <= kMostInDetail;
    if (!has_totals_) find_training();
  }

  std::string text() const {
    const CostReport& best = *layouts_[order_.front()].report;
    const std::string by = !has_best_ ? "memory"
                           : timed_   ? "step time on " + printable(best.time->hardware)
                                      : "bytes sent";
    std::string text =
        wrapped("",
                fmt::format("{}, {}: {}, ordered by {}{}", printable(best.model), printable(best.entry),
                            number_of_layouts(layouts_.size(), options_), by,
                            options_.in_order ? ", within 1 % by the number of rules" : ""),
                " ", options_.width);
    if (same_mesh_) text += wrapped("mesh   ", mesh_text(best.layout), ",", options_.width);
    if (same_rules_) text += wrapped("layout ", rules_text(best.layout), ",", options_.width);
    text += "\n" + lines();
    text += fit_note();
    text += order_text(layouts_[order_.front()], mark(order_.front()) + " ", options_);
    Reports reports;
    std::vector<std::string> marks;
    for (const size_t index : order_) marks.push_back(mark(index));
    for (const size_t index : order_)
      if (layouts_[index].report) reports.push_back(&*layouts_[index].report);
    if (has_totals_)
      text += totals_text(reports, marks, options_);
    else if (options_.totals && reports.size() > kMostInDetail)
      text += "\n" + wrapped("",
                             fmt::format("more than {} layouts: their totals are in the output of --format "
                                         "csv and --format json",
                                         kMostInDetail),
                             " ", options_.width);
    return text;
  }

 private:
  static constexpr size_t kMostInDetail = 6;

  std::string name(const ComparedLayout& layout) const {
    if (same_mesh_ && !same_rules_) return rules_text(layout.layout);
    if (same_rules_) return mesh_text(layout.layout);
    return mesh_text(layout.layout) + " " + rules_text(layout.layout);
  }

  // Finds out which figures of training the lines have, since no table below them has these.
  void find_training() {
    for (const ComparedLayout& layout : layouts_) {
      if (!layout.report || !layout.report->training) continue;
      has_tokens_ = true;
      has_plan_ = has_plan_ || layout.report->training->tokens;
      has_price_ = has_price_ || layout.report->training->price;
    }
  }

  std::string mark(size_t index) const { return fmt::format("[{}]", number_of(layouts_, index)); }

  // The figures of the lines.
  std::vector<const ReportFigure*> line_figures() const {
    std::vector<const ReportFigure*> made;
    const auto add = [&](bool is_there, const char* pointer) {
      if (is_there) made.push_back(&figure_at(pointer));
    };
    add(timed_, "/time/step_s");
    add(timed_ && !has_totals_, "/time/efficiency");
    add(has_tokens_, "/training/tokens_per_second");
    add(has_plan_, "/training/seconds");
    add(has_price_, "/training/price");
    add(!has_price_, "/communication/bytes_sent_per_device");
    add(true, "/memory/peak_bytes_per_device");
    add(judges_, "/memory/fits");
    add(has_totals_ || !timed_, "/flops/einsum_per_device");
    return made;
  }

  std::vector<std::string> heads() const {
    std::vector<std::string> heads;
    for (const ReportFigure* figure : line_figures()) heads.emplace_back(figure->head);
    return heads;
  }

  std::vector<std::string> figures(const CostReport& report) const {
    std::vector<std::string> cells;
    for (const ReportFigure* figure : line_figures()) cells.push_back(figure_text(*figure, report));
    return cells;
  }

  // How many fit, and by how much the smallest layout exceeds what a device may use if none does.
  std::string fit_note() const {
    if (layouts_[order_.front()].report->device_memory == 0) return "";
    int64_t too_large = 0, least = INT64_MAX;
    for (const ComparedLayout& layout : layouts_) {
      if (!layout.report) continue;
      too_large += excess_memory(*layout.report) > 0 ? 1 : 0;
      least = std::min(least, excess_memory(*layout.report));
    }
    const CostReport& first = *layouts_[order_.front()].report;
    const int64_t device = first.device_memory;
    const std::string memory = fmt::format("the {} that a device may use", memory_text(device));
    const std::string what =
        too_large == 0 ? fmt::format("all fit into {}", memory)
        : least > 0    ? fmt::format(
                             "no layout fits into {}; the smallest needs {} more. mtfc search --fit says "
                                "what would fit",
                             memory, bytes_beside(least, device))
                    : fmt::format("{} layout{} fit into {}", too_large,
                                  too_large == 1 ? " does not" : "s do not", memory);
    return "\n" + in_red(wrapped("", what, " ", options_.width), options_.color && too_large > 0);
  }

  std::string lines() const {
    std::vector<size_t> widths;
    for (const std::string& head : heads()) widths.push_back(head.size());
    size_t name_width = 6;
    for (const ComparedLayout& layout : layouts_) {
      if (!layout.report) continue;
      name_width = std::max(name_width, name(layout).size());
      const std::vector<std::string> cells = figures(*layout.report);
      for (size_t c = 0; c < cells.size(); ++c) widths[c] = std::max(widths[c], cells[c].size());
    }
    const size_t number_width = mark(layouts_.size() - 1).size();
    const size_t before = 5 + number_width + 1;
    size_t fixed = before;
    for (const size_t width : widths) fixed += width + 2;
    const size_t room = options_.width > fixed ? options_.width - fixed : 0;
    name_width = std::min(name_width, room);

    const auto line = [&](const std::string& first, const std::vector<std::string>& cells) {
      std::string text = fmt::format("{:<{}}", first, before + name_width);
      for (size_t c = 0; c < cells.size(); ++c) text += fmt::format("  {:>{}}", cells[c], widths[c]);
      return text + "\n";
    };
    std::string text = line("", heads());
    for (size_t rank = 0; rank < order_.size(); ++rank) {
      const ComparedLayout& layout = layouts_[order_[rank]];
      const std::string head =
          fmt::format("{:<5}{:>{}} ", rank == 0 && has_best_ ? "best" : "", mark(order_[rank]), number_width);
      const std::string own = name(layout), margin(before, ' ');
      if (!layout.report) {
        text += wrapped(head, own, ", ", options_.width) +
                wrapped(margin, "not possible: " + printable(layout.reason), " ", options_.width);
        continue;
      }
      const std::vector<std::string> cells = figures(*layout.report);
      const std::string shown = own.size() <= room
                                    ? line(head + own, cells)
                                    : wrapped(head, own, ", ", options_.width) + line("", cells);
      text += in_red(shown, options_.color && excess_memory(*layout.report) > 0);
    }
    return text;
  }

  const std::vector<ComparedLayout>& layouts_;
  const TableOptions& options_;
  std::vector<size_t> order_;
  bool same_mesh_ = false, same_rules_ = false, timed_ = false;
  bool judges_ = false;  // some layout does not fit
  bool has_best_ = false;
  bool has_totals_ = false;                                         // a table below the lines
  bool has_tokens_ = false, has_plan_ = false, has_price_ = false;  // training in the lines
};

}  // namespace

Json figures_json(const CostReport& report) {
  return json_list(total_rows({&report}), [&](const Row& row) {
    return Json::array({row.label, row.cell(report)});
  });
}

std::string report_table(const std::vector<ComparedLayout>& layouts, const TableOptions& options) {
  if (layouts.empty() || possible(layouts).empty()) return "";
  if (layouts.size() == 1) return single_text(layouts.front(), options);
  return RankingText(layouts, options).text();
}

}  // namespace mtfc
