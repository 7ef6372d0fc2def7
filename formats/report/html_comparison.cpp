#include <fmt/format.h>

#include <algorithm>

#include "formats/report/html_parts.h"
#include "formats/report/html_sections.h"
#include "formats/report/scale.h"
#include "formats/text/html_text.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

// The largest figures of all layouts, to which bars relate.
struct Largest {
  double work = 0, sent = 0, memory = 0;
  bool timed = false;
};

Largest largest_of(const std::vector<ComparedLayout>& layouts) {
  Largest most;
  for (const ComparedLayout& layout : layouts) {
    if (!layout.report) continue;
    const CostReport& report = *layout.report;
    most.timed = most.timed || report.time;
    most.work = std::max(most.work, work_of(report));
    most.sent = std::max(most.sent, static_cast<double>(report.communication.total.bytes_sent));
    most.memory = std::max(most.memory, static_cast<double>(report.memory.peak));
  }
  return most;
}

// The duration of a step and its communication that is not hidden behind kernels; without times, the
// arithmetic.
std::string work_cell(const CostReport& report, double most) {
  const double work = work_of(report);
  if (!report.time)
    return html_number(work, count_text(report.arithmetic.einsum_per_device, "FLOP"),
                       html_bar({{work, colour::kKernels}}, most));
  const double computes = std::min(report.time->compute_s, work);
  return html_number(
      work, seconds_text(work),
      html_bar({{computes, colour::kKernels}, {work - computes, colour::kCommunication}}, most));
}

std::string memory_cell(const CostReport& report, double most) {
  const auto peak = static_cast<double>(report.memory.peak);
  std::string text = bytes_in(report, report.memory.peak);
  const int64_t excess = excess_memory(report);
  if (excess > 0)
    text =
        fmt::format("<span class=bad>{}, does not fit: {} too much</span>", text, bytes_in(report, excess));
  return html_number(peak, text,
                     html_bar({{peak, excess > 0 ? colour::kBeyondLimit : colour::kMemory}}, most));
}

struct CloudPoint {
  size_t number;  // of the layout as given, from 1
  double work;
  int64_t memory;
  bool fits;
  bool is_first;  // no other layout is better in everything
};

std::vector<CloudPoint> points_of(const std::vector<ComparedLayout>& layouts,
                                  const std::vector<size_t>& order) {
  constexpr size_t kMost = 200;
  const std::vector<size_t> front = pareto_front(layouts);
  std::vector<CloudPoint> points;
  for (size_t rank = 0; rank < std::min(kMost, order.size()); ++rank)
    if (const auto& report = layouts[order[rank]].report)
      points.push_back({number_of(layouts, order[rank]), work_of(*report), report->memory.peak,
                        excess_memory(*report) == 0,
                        std::find(front.begin(), front.end(), order[rank]) != front.end()});
  return points;
}

std::string point_markup(const CloudPoint& point, bool is_numbered, const Scale& time, const Scale& memory) {
  const std::string form = point.is_first ? "front" : is_numbered ? "number" : "dot";
  return fmt::format("<span class={} style=\"left:{:.1f}%;bottom:{:.1f}%\">{}</span>",
                     point.fits ? form : "\"" + form + " over\"", 100 * time.share(point.work),
                     100 * memory.share(static_cast<double>(point.memory)),
                     is_numbered ? fmt::format("{}", point.number) : "");
}

// `limit` is the memory of a device where it is drawn, otherwise 0.
std::string cloud(const std::vector<CloudPoint>& points, const Scale& time, const Scale& memory,
                  int64_t device_memory, int64_t limit) {
  constexpr size_t kMostNumbered = 30;  // beyond, only points of the front have numbers
  std::string html = fmt::format(
      "<div class=cloud role=img aria-label=\"the layouts as points, by the time of a step and by "
      "memory{}\">",
      limit > 0 ? ", and the memory of a device as a line" : "");
  for (const double tick : round_numbers(time, 10))
    html +=
        fmt::format("<i class=x style=\"left:{:.1f}%\"></i><small class=x style=\"left:{:.1f}%\">{}</small>",
                    100 * time.share(tick), 100 * time.share(tick), seconds_text(tick));
  for (const double tick : round_numbers(memory, is_decimal(device_memory) ? 10 : 2))
    html += fmt::format(
        "<i class=y style=\"bottom:{:.1f}%\"></i><small class=y style=\"bottom:{:.1f}%\">{}</small>",
        100 * memory.share(tick), 100 * memory.share(tick),
        bytes_beside(static_cast<int64_t>(tick), device_memory));
  if (limit > 0)
    html += fmt::format("<i class=limit style=\"bottom:{:.1f}%\"></i>",
                        100 * memory.share(static_cast<double>(limit)));
  // The front is drawn last, so that nothing covers it.
  for (const bool is_first : {false, true})
    for (const CloudPoint& point : points)
      if (point.is_first == is_first)
        html += point_markup(point, is_first || points.size() <= kMostNumbered, time, memory);
  return html + "</div>";
}

// What training on all tokens takes, if --tokens and --price ask for it.
struct TrainingColumns {
  bool duration = false, price = false;

  explicit TrainingColumns(const std::vector<ComparedLayout>& layouts) {
    for (const ComparedLayout& layout : layouts) {
      if (!layout.report || !layout.report->training) continue;
      duration = duration || layout.report->training->tokens;
      price = price || layout.report->training->price;
    }
  }
  size_t count() const { return (duration ? 1 : 0) + (price ? 1 : 0); }

  void add_heads(std::vector<HtmlColumn>& columns) const {
    if (duration) columns.push_back({"for all tokens"});
    if (price) columns.push_back({"price"});
  }
  std::string cells(const CostReport& report) const {
    std::string html;
    const bool known = report.training && report.training->tokens;
    if (duration)
      html += known ? html_number(report.training->seconds, duration_text(report.training->seconds))
                    : "<td></td>";
    if (price)
      html += known && report.training->price
                  ? html_number(*report.training->price, amount_text(*report.training->price))
                  : "<td></td>";
    return html;
  }
};

}  // namespace

std::string layout_markup(const Layout& layout) {
  const std::string mesh = layout.mesh.axes().empty() ? "one device" : to_string(layout.mesh);
  std::string html;
  for (const char letter : html_escaped(mesh + " / " + described(layout))) {
    html += letter;
    if (letter == ',') html += "<wbr>";
  }
  return html;
}

double work_of(const CostReport& report) {
  return report.time ? report.time->step_s : static_cast<double>(report.arithmetic.einsum_per_device);
}

std::string comparison_table(const std::vector<ComparedLayout>& layouts, const std::vector<size_t>& order,
                             size_t in_detail) {
  const Largest most = largest_of(layouts);
  std::string html;
  if (most.timed)
    html = "<p class=keys>" + html_key(colour::kKernels, "kernels") +
           html_key(colour::kCommunication, "communication that they do not hide, and bytes sent") + "</p>";
  const TrainingColumns training(layouts);
  std::vector<HtmlColumn> heads = {{"layout", true},
                                   {"devices"},
                                   {most.timed ? "step" : "einsum per device"},
                                   {"sent per device"},
                                   {"memory per device"}};
  training.add_heads(heads);
  html += html_table("layouts", heads);
  const bool one_fits = has_best(layouts);
  size_t shown = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    const ComparedLayout& layout = layouts[order[rank]];
    const size_t number = number_of(layouts, order[rank]);
    std::string name = fmt::format("{} {}", number, layout_markup(layout.layout));
    if (layout.report && ++shown <= in_detail)
      name = fmt::format("<a href=\"#details-{}\">{}</a>", number, name);
    html += fmt::format("<tr{}>{}", rank == 0 && one_fits ? " class=best" : "", html_row_head(name));
    html += html_number(layout.layout.mesh.devices(), grouped(layout.layout.mesh.devices()));
    if (!layout.report) {
      html += fmt::format("<td class=\"word flow\" colspan={}>not possible: {}</td></tr>\n",
                          3 + training.count(), html_escaped(layout.reason));
      continue;
    }
    const auto sent = static_cast<double>(layout.report->communication.total.bytes_sent);
    html += work_cell(*layout.report, most.work) +
            html_number(sent, bytes_in(*layout.report, layout.report->communication.total.bytes_sent),
                        html_bar({{sent, colour::kCommunication}}, most.sent)) +
            memory_cell(*layout.report, most.memory) + training.cells(*layout.report) + "</tr>\n";
  }
  return html + std::string(html_table_end());
}

std::string comparison_points(const std::vector<ComparedLayout>& layouts, const std::vector<size_t>& order) {
  constexpr size_t kFewest = 3;
  const std::vector<CloudPoint> points = points_of(layouts, order);
  if (points.size() < kFewest || !largest_of(layouts).timed) return "";
  double least_work = points.front().work, most_work = 0;
  int64_t least_memory = points.front().memory, most_memory = 0;
  std::string front;
  bool all_fit = true;
  for (const CloudPoint& point : points) {
    all_fit = all_fit && point.fits;
    least_work = std::min(least_work, point.work);
    most_work = std::max(most_work, point.work);
    least_memory = std::min(least_memory, point.memory);
    most_memory = std::max(most_memory, point.memory);
    if (point.is_first) front += (front.empty() ? "" : ", ") + fmt::format("{}", point.number);
  }
  if (most_work <= 0 || most_memory <= 0) return "";
  constexpr int64_t kFar = 4;  // times the most memory: the points would be close together at the bottom
  const int64_t device = device_memory_of(layouts), limit = device / kFar > most_memory ? 0 : device;
  if (limit > 0) {
    least_memory = std::min(least_memory, limit);
    most_memory = std::max(most_memory, limit);
  }
  std::string notes;
  if (limit > 0) notes += fmt::format(" The red line marks the {} of a device.", memory_text(limit));
  if (!all_fit) notes += " What does not fit is red.";
  return fmt::format(
      "<p class=dim>Time of a step (to the right) and memory of a device (upwards). The numbers are those of "
      "the list above.{} No other layout{} has as short a step, as little memory and as few devices as "
      "these, "
      "which are filled: {}.</p>{}",
      notes, !all_fit && has_best(layouts) ? " that fits" : "", front,
      cloud(points, Scale(least_work, most_work),
            Scale(static_cast<double>(least_memory), static_cast<double>(most_memory)), device, limit));
}

}  // namespace mtfc
