#include "formats/report/run_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "formats/json/ordered_json.h"
#include "formats/report/run_summary.h"
#include "formats/text/html_text.h"
#include "formats/text/quantity.h"

namespace mtfc {

// The colours have a contrast of at least 4.5 to the background in both schemes.
const std::string_view kCurveStyle = R"(
:root{--r0:#1f5fa8;--r1:#a8480a;--r2:#2c7a2c;--r3:#8a3ea8;--r4:#a31f34;--r5:#00706b;--r6:#7a5c00;--r7:#555f6b}
@media (prefers-color-scheme:dark){:root{--r0:#6cb0ff;--r1:#ffa657;--r2:#7ee787;--r3:#d2a8ff;--r4:#ff9a9a;--r5:#5fd7cf;
--r6:#e3c65a;--r7:#c0c7d0}}
@media print{:root{--r0:#1f5fa8;--r1:#a8480a;--r2:#2c7a2c;--r3:#8a3ea8;--r4:#a31f34;--r5:#00706b;--r6:#7a5c00;--r7:#555f6b}}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(29rem,100%),1fr));gap:1rem;margin:1em 0}
.plot h3{margin:0 0 .3em}
.plot-grid{display:grid;grid-template-columns:auto 1fr;margin-top:.5em}
.plot-y{position:relative;min-width:4.6rem;font-size:.75rem;color:var(--dim)}
.plot-y span{position:absolute;right:.4rem;transform:translateY(-50%);white-space:nowrap}
.plot-x{grid-column:2;position:relative;height:1.4rem;font-size:.75rem;color:var(--dim)}
.plot-x span{position:absolute;top:.15rem;transform:translateX(-50%);white-space:nowrap}
.plot-area{display:block;width:100%;height:14rem;background:var(--back);border-left:1px solid var(--dim);
border-bottom:1px solid var(--dim)}
.plot path{fill:none;stroke-width:2;vector-effect:non-scaling-stroke;stroke-linejoin:round}
.plot .grid{stroke:var(--line);stroke-width:1}.plot .band{stroke:none;opacity:.22}
.plot .dots{stroke-width:7;stroke-linecap:round}
.plot .key svg{width:2rem;height:.7rem;margin-right:.3em;vertical-align:middle}
.plot .key{white-space:normal;overflow-wrap:anywhere}
.plot .cursor{stroke:var(--text);stroke-width:1}
.readout{display:flex;flex-wrap:wrap;gap:.2rem .8rem;align-items:center;font-size:.85rem;min-height:2.6em}
.readout label{display:flex;gap:.5rem;align-items:center;color:var(--dim)}.readout input{width:11rem;max-width:100%}
.readout output{overflow-wrap:anywhere}
)";

const std::string_view kCurveScript = R"script(
const place=(x,isTime)=>isTime?x<120?x.toPrecision(3)+" s":x<7200?(x/60).toPrecision(3)+" min":(x/3600).toPrecision(3)+" h":
"step "+Math.round(x).toLocaleString("en");
// The last point of a line that is not behind x.
function pointAt(line,x){
let low=0,high=line.x.length-1;
while(low<high){const middle=(low+high+1)>>1;if(line.x[middle]<=x)low=middle;else high=middle-1}
return low}
function addReadout(figure){
const data=JSON.parse(figure.dataset.curves);
for(const line of data.lines){line.x=line.x.split(" ").map(Number);line.text=line.text.split("|")}
const area=figure.querySelector(".plot-area"),
places=[...new Set(data.lines.flatMap(line=>line.x))].sort((a,b)=>a-b),
row=document.createElement("p"),label=document.createElement("label"),slider=document.createElement("input"),
output=document.createElement("output"),cursor=document.createElementNS(area.namespaceURI,"path");
row.className="readout";label.textContent="Values at";slider.type="range";slider.min=0;slider.max=places.length-1;slider.value=slider.max;
cursor.setAttribute("class","cursor");area.append(cursor);label.append(slider);row.append(label,output);
figure.querySelector(".plot-grid").after(row);
function show(at,isMarked){
const x=places[at],text=place(x,data.time)+": "+data.lines.filter(line=>line.x[0]<=x).map(line=>line.name+" "+
line.text[pointAt(line,x)]).join(", ");
output.textContent=text;slider.setAttribute("aria-valuetext",text);
if(isMarked)cursor.setAttribute("d","M"+1000*(x-data.least)/(data.most-data.least)+" 0V300")}
slider.addEventListener("input",()=>show(+slider.value,true));
area.addEventListener("pointermove",event=>{
const box=area.getBoundingClientRect(),x=data.least+(data.most-data.least)*(event.clientX-box.left)/box.width;
let best=0;for(let i=1;i<places.length;++i)if(Math.abs(places[i]-x)<Math.abs(places[best]-x))best=i;
slider.value=best;show(best,true)});
show(places.length-1,false)}
for(const figure of document.querySelectorAll("[data-curves]"))addReadout(figure);
)script";

namespace {

constexpr size_t kRunColours = 8;
constexpr size_t kMostPoints = 500;  // of a line, about as many as a screen can tell apart
constexpr double kPlotWidth = 1000, kPlotHeight = 300;
// Lines are told apart without colours, too: by run, from the second on.
constexpr std::array<const char*, 4> kDashes = {"", "9 4", "2 4", "12 4 2 4"};

// Maps numbers to positions from 0 to 1.
struct PlotScale {
  double least = 0, most = 1;
  bool is_logarithmic = false;

  double at(double value) const {
    if (is_logarithmic) return (std::log(value) - std::log(least)) / (std::log(most) - std::log(least));
    return (value - least) / (most - least);
  }
};

// A line as it is drawn.
struct DrawnLine {
  const PlotLine* line;
  std::vector<PlotPoint> points;
  std::vector<size_t> breaks;
};

PlotScale x_scale(const std::vector<DrawnLine>& lines) {
  PlotScale scale{std::numeric_limits<double>::infinity(), 0, false};
  for (const DrawnLine& line : lines) {
    scale.least = std::min(scale.least, line.points.front().x);
    scale.most = std::max(scale.most, line.points.back().x);
  }
  if (scale.most <= scale.least) scale.most = scale.least + 1;
  return scale;
}

// Whether a line ends below where it begins.
bool falls(const std::vector<DrawnLine>& lines) {
  return std::any_of(lines.begin(), lines.end(),
                     [](const DrawnLine& line) { return line.points.back().y < line.points.front().y; });
}

PlotScale y_scale(const Plot& plot, const std::vector<DrawnLine>& lines) {
  constexpr double kWide = 30;  // ratio from which on small numbers would all look like 0
  constexpr double kMargin = 0.05;
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const DrawnLine& line : lines)
    for (const PlotPoint& point : line.points) {
      least = std::min(least, point.least);
      most = std::max(most, point.most);
    }
  if (plot.begins_at_zero && least >= 0) return {0, most > 0 ? most * (1 + kMargin) : 1, false};
  const bool may_be_logarithmic = plot.metric.find("accuracy") == std::string::npos && falls(lines);
  if (may_be_logarithmic && least > 0 && most / least >= kWide)
    return {least / (1 + kMargin), most * (1 + kMargin), true};
  // Numbers may be equal, or so large or small that a margin is lost in rounding.
  for (const double margin : {kMargin * (most - least), kMargin * std::abs(least)})
    if (least - margin < most + margin) return {least - margin, most + margin, false};
  return {least - 1, most + 1, false};
}

// The unit in which the labels of a time are, and its seconds.
std::pair<double, const char*> time_unit(double seconds) {
  if (seconds >= 2 * 86400) return {86400, "days"};
  if (seconds >= 2 * 3600) return {3600, "h"};
  return seconds >= 2 * 60 ? std::pair{60.0, "min"} : std::pair{1.0, "s"};
}

// The y of a point in the drawing, from the top.
double height_of(const PlotScale& scale, double value) {
  return kPlotHeight * (1 - scale.at(value));
}

std::string line_path(const DrawnLine& drawn, const PlotScale& x, const PlotScale& y) {
  std::string path;
  size_t next_break = 0;
  for (size_t i = 0; i < drawn.points.size(); ++i) {
    const bool begins = i == 0 || (next_break < drawn.breaks.size() && drawn.breaks[next_break] == i);
    if (begins && i > 0) ++next_break;
    path += fmt::format("{}{:.1f} {:.1f}", begins ? "M" : "L", kPlotWidth * x.at(drawn.points[i].x),
                        height_of(y, drawn.points[i].y));
  }
  return path;
}

// The range between the extremes of the steps that a point stands for; empty if every point is one step.
std::string band_of(const DrawnLine& drawn, const PlotScale& x, const PlotScale& y) {
  std::string upper, lower;
  bool is_wide = false;
  for (const PlotPoint& point : drawn.points) {
    const double at = kPlotWidth * x.at(point.x);
    is_wide |= point.least < point.most;
    upper += fmt::format("{}{:.1f} {:.1f}", upper.empty() ? "M" : "L", at, height_of(y, point.most));
    lower = fmt::format("L{:.1f} {:.1f}", at, height_of(y, point.least)) + lower;
  }
  return is_wide ? upper + lower + "Z" : "";
}

// Lines of no length with round ends are dots whatever the drawing is stretched to.
std::string dots_of(const DrawnLine& drawn, const PlotScale& x, const PlotScale& y) {
  std::string path;
  for (const PlotPoint& point : drawn.points)
    path += fmt::format("M{:.1f} {:.1f}h0", kPlotWidth * x.at(point.x), height_of(y, point.y));
  return path;
}

std::string line_colour(const PlotLine& line) {
  return fmt::format("var(--r{})", line.colour % kRunColours);
}

std::string line_dash(const PlotLine& line) {
  const char* dash = kDashes[line.colour % kDashes.size()];
  return *dash == '\0' ? "" : fmt::format(" stroke-dasharray=\"{}\"", dash);
}

bool shows_dots(const DrawnLine& drawn) {
  constexpr size_t kMostDots = 60;
  return drawn.points.size() == 1 || (drawn.line->has_dots && drawn.points.size() <= kMostDots);
}

std::string drawn_line(const DrawnLine& drawn, const PlotScale& x, const PlotScale& y) {
  const std::string colour = line_colour(*drawn.line), band = band_of(drawn, x, y);
  std::string svg;
  if (!band.empty()) svg += fmt::format("<path class=band style=\"fill:{}\" d=\"{}\"/>", colour, band);
  svg +=
      fmt::format("<path stroke=\"{}\"{} d=\"{}\"/>", colour, line_dash(*drawn.line), line_path(drawn, x, y));
  if (shows_dots(drawn))
    svg += fmt::format("<path class=dots stroke=\"{}\" d=\"{}\"/>", colour, dots_of(drawn, x, y));
  return svg;
}

std::string plot_key(const DrawnLine& drawn) {
  const std::string colour = line_colour(*drawn.line);
  return fmt::format(
      "<span class=key><svg viewBox=\"0 0 32 10\" aria-hidden=true><path stroke=\"{}\"{} d=\"M0 5L32 "
      "5\"/>{}</svg>{}"
      "</span> ",
      colour, line_dash(*drawn.line),
      shows_dots(drawn) ? fmt::format("<path class=dots stroke=\"{}\" d=\"M16 5h0\"/>", colour) : "",
      html_escaped(drawn.line->name));
}

// `training: 2.36 at step 1, 0.259 at step 100; from 0.251 to 2.36`
std::string line_summary(const Plot& plot, const DrawnLine& drawn) {
  const PlotLine& line = *drawn.line;
  const auto is_finite = [](double y) { return std::isfinite(y); };
  const auto first =
      static_cast<size_t>(std::find_if(line.y.begin(), line.y.end(), is_finite) - line.y.begin());
  const auto last =
      static_cast<size_t>(line.y.rend() - std::find_if(line.y.rbegin(), line.y.rend(), is_finite)) - 1;
  const auto at = [&](size_t i) {
    return fmt::format("{} {}", metric_text(plot.metric, line.y[i]),
                       plot.is_over_time ? "after " + duration_text(line.x[i])
                                         : "at step " + grouped(std::llround(line.x[i])));
  };
  double least = line.y[first], most = line.y[first];
  for (const PlotPoint& point : drawn.points) {
    least = std::min(least, point.least);
    most = std::max(most, point.most);
  }
  if (first == last) return fmt::format("{}: {}", line.name, at(first));
  return fmt::format("{}: {}, {}; from {} to {}", line.name, at(first), at(last),
                     metric_text(plot.metric, least), metric_text(plot.metric, most));
}

std::string tick_text(const Plot& plot, double value) {
  if (plot.metric == "step_time") return metric_text(plot.metric, value);
  if (plot.metric == "mfu") return fmt::format("{:.3g} %", 100 * value);
  if (plot.metric.ends_with("_per_second") && value >= 1000 && value < 1e18)
    return count_text(std::llround(value), "");
  return fmt::format("{:.4g}", value);
}

std::string y_labels(const Plot& plot, const PlotScale& scale, std::string& grid) {
  std::string labels;
  for (const double tick : round_ticks(scale.least, scale.most, scale.is_logarithmic)) {
    const double height = height_of(scale, tick);
    labels += fmt::format("<span style=\"top:{:.1f}%\">{}</span>", 100 * height / kPlotHeight,
                          tick_text(plot, tick));
    grid += fmt::format("M0 {:.1f}H{:.0f}", height, kPlotWidth);
  }
  return labels;
}

std::string x_labels(const Plot& plot, const PlotScale& scale, std::string& grid) {
  constexpr double kEdge = 0.05;  // labels nearer to an end would stand out of the drawing
  const auto [unit, name] = plot.is_over_time ? time_unit(scale.most) : std::pair{1.0, ""};
  std::string labels;
  for (const double tick : round_ticks(scale.least / unit, scale.most / unit, false)) {
    const double at = scale.at(tick * unit);
    if (!plot.is_over_time && tick != std::floor(tick)) continue;  // there are no halves of steps
    grid += fmt::format("M{:.1f} 0V{:.0f}", kPlotWidth * at, kPlotHeight);
    if (at > kEdge && at < 1 - kEdge)
      labels +=
          fmt::format("<span style=\"left:{:.1f}%\">{}</span>", 100 * at,
                      plot.is_over_time ? fmt::format("{:.4g} {}", tick, name) : grouped(std::llround(tick)));
  }
  return labels;
}

// The points as the script reads them: of each line the places, and the numbers there with `|` between them.
std::string curve_data(const Plot& plot, const PlotScale& x, const std::vector<DrawnLine>& lines) {
  Json all = Json::array();
  for (const DrawnLine& drawn : lines) {
    std::string places, texts;
    for (const PlotPoint& point : drawn.points) {
      const bool is_first = places.empty();
      places += fmt::format("{}{:.6g}", is_first ? "" : " ", point.x);
      texts += (is_first ? "" : "|") + metric_text(plot.metric, point.y);
      if (point.least < point.most)
        texts += fmt::format(" ({} to {})", metric_text(plot.metric, point.least),
                             metric_text(plot.metric, point.most));
    }
    all.push_back({{"name", drawn.line->name}, {"x", places}, {"text", texts}});
  }
  const Json data = {{"time", plot.is_over_time}, {"least", x.least}, {"most", x.most}, {"lines", all}};
  return html_escaped(data.dump());
}

std::string missing_text(const Plot& plot) {
  std::string text;
  for (const PlotLine& line : plot.lines) {
    if (line.has_dots) continue;  // most steps have no such number
    const auto missing =
        std::count_if(line.y.begin(), line.y.end(), [](double y) { return !std::isfinite(y); });
    if (missing > 0)
      text += fmt::format("<p>{}: {} of {} steps have no finite number.</p>", html_escaped(line.name),
                          grouped(missing), grouped(static_cast<int64_t>(line.y.size())));
  }
  return text;
}

}  // namespace

std::vector<PlotPoint> thinned(const PlotLine& line, size_t most, std::vector<size_t>& breaks) {
  std::vector<PlotPoint> points;
  const size_t size = line.x.size();
  const auto finite = static_cast<size_t>(
      std::count_if(line.y.begin(), line.y.end(), [](double y) { return std::isfinite(y); }));
  const double begin = size > 0 ? line.x.front() : 0, range = size > 0 ? line.x.back() - begin : 0;
  const bool is_thinned = finite > most && range > 0;
  size_t count = 0, group = 0;  // steps in the last point, and its number among all ranges of x
  bool is_broken = false;
  for (size_t i = 0; i < size; ++i) {
    const double x = line.x[i], y = line.y[i];
    if (!std::isfinite(y)) {
      is_broken = !line.has_dots && !points.empty();
      continue;
    }
    const auto here = std::min(
        most - 1, static_cast<size_t>((x - begin) / std::max(range, 1e-300) * static_cast<double>(most)));
    if (is_thinned && count > 0 && here == group) {
      PlotPoint& point = points.back();
      ++count;
      point.x += (x - point.x) / static_cast<double>(count);
      point.y += (y - point.y) / static_cast<double>(count);
      point.least = std::min(point.least, y);
      point.most = std::max(point.most, y);
      is_broken = false;
      continue;
    }
    if (is_broken) breaks.push_back(points.size());
    is_broken = false;
    points.push_back({x, y, y, y});
    count = 1;
    group = here;
  }
  return points;
}

std::vector<double> round_ticks(double least, double most, bool is_logarithmic) {
  constexpr int kWanted = 5;
  std::vector<double> ticks;
  if (is_logarithmic) {
    const double decades = std::log10(most) - std::log10(least);
    const double every = std::max(1.0, std::ceil(decades / kWanted));
    for (double power = std::floor(std::log10(least)); power <= std::log10(most); power += 1)
      for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor > 1 && decades > kWanted / 2) continue;
        const double tick = factor * std::pow(10, power);
        const bool is_due = std::fmod(std::abs(power), every) == 0;
        if (is_due && tick >= least && tick <= most) ticks.push_back(tick);
      }
  } else {
    const double rough = (most - least) / kWanted, power = std::pow(10, std::floor(std::log10(rough)));
    double step = 10 * power;
    for (const double factor : {5.0, 2.0, 1.0})
      if (factor * power >= rough) step = factor * power;
    for (double at = std::ceil(least / step); at * step <= most && ticks.size() < 2 * kWanted + 2; at += 1)
      ticks.push_back(at * step + 0.0);  // not -0
  }
  if (ticks.empty()) ticks.push_back(most);
  return ticks;
}

std::string plot_figure(const Plot& plot) {
  std::vector<DrawnLine> lines;
  for (const PlotLine& line : plot.lines) {
    DrawnLine drawn{&line, {}, {}};
    drawn.points = thinned(line, kMostPoints, drawn.breaks);
    if (!drawn.points.empty()) lines.push_back(std::move(drawn));
  }
  if (lines.empty()) return "";
  const PlotScale x = x_scale(lines), y = y_scale(plot, lines);
  std::string grid, keys, drawing, summary, listed;
  const std::string left = y_labels(plot, y, grid), below = x_labels(plot, x, grid);
  for (const DrawnLine& drawn : lines) {
    keys += plot_key(drawn);
    drawing += drawn_line(drawn, x, y);
    const std::string text = html_escaped(line_summary(plot, drawn));
    summary += (summary.empty() ? "" : ". ") + text;
    listed += fmt::format("<p>{}</p>", text);
  }
  const std::string name = html_escaped(plot.metric);
  const std::string over = plot.is_over_time ? "time" : "steps";
  return fmt::format(
      "<figure class=plot data-curves=\"{13}\"><h3>{0} over {1}</h3><p class=keys>{2}</p><div "
      "class=plot-grid><div class=plot-y "
      "aria-hidden=true>{3}</div><svg class=plot-area viewBox=\"0 0 {4:.0f} {5:.0f}\" "
      "preserveAspectRatio=none role=img "
      "aria-label=\"{0} over {1}{6}. {7}\"><path class=grid d=\"{8}\"/>{9}</svg><div class=plot-x "
      "aria-hidden=true>{10}</div></div>{11}{12}</figure>\n",
      name, over, keys, left, kPlotWidth, kPlotHeight, y.is_logarithmic ? ", on a logarithmic scale" : "",
      summary, grid, drawing, below, listed,
      missing_text(plot) + (y.is_logarithmic ? "<p>logarithmic scale</p>" : ""), curve_data(plot, x, lines));
}

}  // namespace mtfc
