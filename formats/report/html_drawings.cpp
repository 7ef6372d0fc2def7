#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "formats/report/html_parts.h"
#include "formats/report/html_sections.h"
#include "formats/text/html_text.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

constexpr int kColumns = 1000;        // the width of a drawing
constexpr int kMemoryColumns = 500;   // those of them that the drawing of the memory tells apart
constexpr double kWidePiece = 4;      // columns of a piece of a lane that has a title of its own
constexpr int64_t kMostRounds = 200;  // of a loop that are drawn one by one

constexpr double kLastCentred =
    92;  // percent; the label of a later tick ends at the tick, so that it stays on the page

// An axis of time that the drawings of a step share.
class TimeAxis {
 public:
  explicit TimeAxis(double total) : total_(total) {
    constexpr double kTicks = 5;
    const double apart = total / kTicks, power = std::pow(10.0, std::floor(std::log10(apart)));
    double step = 10 * power;
    for (const double factor : {5.0, 2.0, 1.0})
      if (factor * power >= 0.999 * apart) step = factor * power;
    for (int i = 0; i * step <= 1.0001 * total; ++i) ticks_.push_back(i * step);
  }

  double total() const { return total_; }
  double column(double seconds) const { return seconds / total_ * kColumns; }

  // Lines at the ticks, for a drawing of this height.
  std::string lines(int height) const {
    std::string path;
    for (size_t i = 1; i < ticks_.size(); ++i) path += fmt::format("M{:.1f} 0v{}", column(ticks_[i]), height);
    return path.empty() ? "" : fmt::format("<path class=tick d=\"{}\"/>", path);
  }

  std::string labels() const {
    static constexpr std::array<std::pair<double, const char*>, 4> kUnits = {
        {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
    size_t unit = 0;
    while (unit + 1 < kUnits.size() && ticks_.back() < 0.999 * kUnits[unit].first) ++unit;
    std::string text = "<div class=axis>";
    for (const double tick : ticks_) {
      const double at = 100 * tick / total_;
      text += fmt::format("<span{} style=\"left:{:.1f}%\">{:.6g} {}</span>",
                          at > kLastCentred ? " class=last" : "", at, tick / kUnits[unit].first,
                          kUnits[unit].second);
    }
    return text + "</div>";
  }

 private:
  double total_;
  std::vector<double> ticks_;
};

// A stretch of time in which a step runs.
struct Piece {
  double begin = 0, end = 0;
  const StepCost* step = nullptr;
};

int colour_of(Phase phase) {
  if (phase == Phase::kForward) return colour::kForward;
  return phase == Phase::kBackward ? colour::kBackward : colour::kUpdate;
}

// A lane of the timeline; pieces too short to be told apart are drawn as one. They come in the order of time.
class Lane {
 public:
  explicit Lane(const TimeAxis& axis) : axis_(&axis) {}

  void add(const Piece& piece) {
    const double from = axis_->column(piece.begin), to = axis_->column(piece.end);
    if (count_ > 0 && from <= to_ + 0.2 && to - from_ < 1) {
      to_ = std::max(to, to_);
      ++count_;
      return;
    }
    flush();
    from_ = from;
    to_ = to;
    count_ = 1;
    first_ = piece.step;
  }

  std::string html() {
    flush();
    std::string text;
    for (const auto& [colour, path] : narrow_)
      text += fmt::format("<path class=c{} d=\"{}\"/>", colour, path);
    return text + wide_;
  }

 private:
  void flush() {
    if (count_ == 0) return;
    const int colour = colour_of(first_->phase);
    const double width = std::max(to_ - from_, 0.3);
    if (width < kWidePiece)
      narrow_[colour] += fmt::format("M{:.1f} 0h{:.1f}v10h-{:.1f}z", from_, width, width);
    else
      wide_ += fmt::format(
          "<rect class=c{} x=\"{:.1f}\" width=\"{:.1f}\" height=\"10\"><title>{} {}, {}</title></rect>",
          colour, from_, width, html_escaped(first_->kind), html_escaped(first_->name),
          seconds_text(first_->time.seconds));
    count_ = 0;
  }

  const TimeAxis* axis_;
  double from_ = 0, to_ = 0;
  int count_ = 0;
  const StepCost* first_ = nullptr;
  std::map<int, std::string> narrow_;  // paths by colour
  std::string wide_;
};

// When the work of a step's first run ends. A collective whose result is unpacked where it is awaited ends there, which
// may be long after its transfer.
double end_of_work(const StepCost& step) {
  const double run = step.time.seconds / static_cast<double>(std::max<int64_t>(1, step.count.runs));
  return std::min(step.time.end_s, step.time.begin_s + run);
}

// The pieces of all steps, in the order of time. A step of a loop has one for each of its rounds; the rounds of a loop
// with too many are drawn as one piece behind the first.
std::vector<Piece> pieces_of(const CostReport& report) {
  std::vector<Piece> pieces;
  for (const StepCost& step : report.steps) {
    const double begin = step.time.begin_s, end = end_of_work(step);
    if (end <= begin) continue;
    pieces.push_back({begin, end, &step});
    for (const LoopTime& loop : report.time->loops) {
      if (begin < loop.begin_s || begin >= loop.begin_s + loop.first_s) continue;
      const double second = loop.begin_s + loop.first_s;
      if (loop.rounds > kMostRounds)
        pieces.push_back({second, second + static_cast<double>(loop.rounds - 1) * (end - begin), &step});
      for (int64_t round = 1; round < loop.rounds && loop.rounds <= kMostRounds; ++round) {
        const double later = loop.first_s + static_cast<double>(round - 1) * loop.round_s;
        pieces.push_back({begin + later, end + later, &step});
      }
    }
  }
  // A step that starts early may end late.
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  return pieces;
}

std::string lanes(const CostReport& report, const TimeAxis& axis) {
  std::map<std::string, Lane> lanes;
  for (const Piece& piece : pieces_of(report))
    lanes.try_emplace(report.layout.mesh.names(piece.step->axes), axis).first->second.add(piece);
  std::map<std::string, double> busy;  // as the totals by mesh axis have it
  for (const StepCost& step : report.steps) busy[report.layout.mesh.names(step.axes)] += step.time.seconds;
  std::string text = "<p class=keys>" + html_key(colour::kForward, "forward") +
                     html_key(colour::kBackward, "backward") + html_key(colour::kUpdate, "update") + "</p>";
  for (auto& [axes, lane] : lanes) {
    const std::string label = fmt::format(
        "{}, busy for {} ({:.0f} %)", axes.empty() ? "kernels" : "communication over " + html_escaped(axes),
        seconds_text(busy[axes]), 100 * busy[axes] / axis.total());
    text += fmt::format(
        "<p class=scale>{}</p><svg class=lane viewBox=\"0 0 {} 10\" preserveAspectRatio=none role=img "
        "aria-label=\"{}\">{}{}</svg>",
        label, kColumns, label, lane.html(), axis.lines(10));
  }
  return text;
}

// The steps in whose order the memory is drawn: for each column the fullest one, so that no peak is lost.
std::vector<size_t> fullest_by_step(const MemoryUse& use) {
  const auto steps = static_cast<int64_t>(use.inputs.size());
  const int64_t columns = std::min<int64_t>(steps, kMemoryColumns);
  std::vector<size_t> chosen;
  for (int64_t c = 0; c < columns; ++c) {
    auto best = static_cast<size_t>(c * steps / columns);
    for (auto s = best; s < static_cast<size_t>((c + 1) * steps / columns); ++s)
      if (use.at(s) > use.at(best)) best = s;
    chosen.push_back(best);
  }
  return chosen;
}

// The time in the first round of a loop that stands for [from, to) in a later one; other times stand for themselves.
std::pair<double, double> in_first_round(const std::vector<LoopTime>& loops, double from, double to) {
  for (const LoopTime& loop : loops) {
    const double second = loop.begin_s + loop.first_s,
                 end = second + static_cast<double>(loop.rounds - 1) * loop.round_s;
    if (from < second || from >= end) continue;
    if (to - from >= loop.round_s) return {loop.begin_s, second};
    const double begin = std::min(loop.begin_s + std::fmod(from - second, loop.round_s), second);
    return {begin, std::min(begin + (to - from), second)};
  }
  return {from, to};
}

// The same over time. The device is at a step until the next one begins. The transfer of a collective may begin later
// than its step, and after steps that follow it.
std::vector<size_t> fullest_by_time(const CostReport& report) {
  const MemoryUse& use = report.memory_over_steps;
  const std::vector<StepTime>& steps = report.time->steps;
  std::vector<double> ends(steps.size(), report.time->step_s);
  for (size_t s = steps.size() - 1; s-- > 0;) ends[s] = std::min(ends[s + 1], steps[s + 1].begin_s);
  std::vector<size_t> chosen;
  for (int c = 0; c < kMemoryColumns; ++c) {
    const auto [from, to] = in_first_round(report.time->loops, report.time->step_s * c / kMemoryColumns,
                                           report.time->step_s * (c + 1) / kMemoryColumns);
    // Steps that take no time count where they are.
    auto best = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), from) - ends.begin());
    best = std::min(best, steps.size() - 1);
    while (best > 0 && ends[best - 1] >= from && (best == 1 ? 0.0 : ends[best - 2]) >= from) --best;
    for (size_t s = best + 1; s < steps.size() && (ends[s - 1] < to || c + 1 == kMemoryColumns); ++s)
      if (use.at(s) > use.at(best)) best = s;
    chosen.push_back(best);
  }
  return chosen;
}

struct Layer {
  std::string name;
  int colour;
  std::vector<int64_t> bytes;  // by column
};

// Variables and what the optimizer keeps for them: those of each group, then the others.
std::vector<Layer> lasting_layers(const MemoryCost& memory, size_t columns) {
  std::vector<Layer> layers;
  int64_t rest = memory.variables + memory.optimizer_state + memory.caches;
  for (const auto& [name, group] : memory.groups) {
    const int64_t bytes = group.variables + group.optimizer_state;
    layers.push_back({"variables and state of " + name, colour::of_group(layers.size()),
                      std::vector<int64_t>(columns, bytes)});
    rest -= bytes;
  }
  layers.push_back({layers.empty() ? "variables and state" : "other variables and state", colour::kVariables,
                    std::vector<int64_t>(columns, rest)});
  return layers;
}

std::vector<Layer> layers_of(const CostReport& report, const std::vector<size_t>& chosen) {
  const MemoryUse& use = report.memory_over_steps;
  const auto columns = [&](const std::vector<int64_t>& steps) {
    std::vector<int64_t> bytes;
    for (const size_t step : chosen) bytes.push_back(steps[step]);
    return bytes;
  };
  std::vector<Layer> layers = lasting_layers(report.memory, chosen.size());
  layers.push_back({"inputs", colour::kInputs, columns(use.inputs)});
  layers.push_back({"activations", colour::kActivations, columns(use.activations)});
  layers.push_back({"gradients", colour::kGradients, columns(use.gradients)});
  layers.push_back({"workspace", colour::kWorkspace, columns(use.workspace)});
  return layers;
}

// The area from the axis up to `tops`, which the areas of the layers below will cover.
std::string area(int colour, const std::vector<int64_t>& tops, double peak) {
  std::string path = "M0 100";
  for (size_t c = 0; c < tops.size(); ++c)
    if (c == 0 || tops[c] != tops[c - 1])
      path += fmt::format("{}V{:.3g}", c == 0 ? "" : fmt::format("H{}", c),
                          100 - 100 * static_cast<double>(tops[c]) / peak);
  return fmt::format("<path class=c{} d=\"{}H{}V100z\"/>", colour, path, tops.size());
}

// What a device has, as a line, if that is not far above the peak; and what the label says of it.
struct MemoryLimit {
  MemoryLimit(int64_t limit, int64_t peak) {
    constexpr int64_t kFar = 4;  // times the peak: the drawing of the memory in use would be too low
    top = static_cast<double>(peak);
    if (limit <= 0) return;
    text = peak > limit ? fmt::format(", {} more than the {} of a device", bytes_beside(peak - limit, limit),
                                      memory_text(limit))
                        : fmt::format(", of the {} of a device", memory_text(limit));
    if (limit > kFar * peak) return;
    top = std::max(top, 1.02 * static_cast<double>(limit));
    const std::string path =
        fmt::format("d=\"M0 {:.3g}H{}\"/>", 100 - 100 * static_cast<double>(limit) / top, 2 * kColumns);
    line = "<path class=\"limit halo\" " + path + "<path class=limit " + path;
    text += ", which the red line marks";
  }
  double top = 1;
  std::string line, text;
};

// The memory at the chosen step of each column, stacked by kind. `axis` is that of time, if columns are times.
std::string memory_chart(const CostReport& report, const std::vector<size_t>& chosen, const TimeAxis* axis) {
  const MemoryUse& use = report.memory_over_steps;
  const std::vector<Layer> layers = layers_of(report, chosen);
  const int64_t lasting = report.memory.variables + report.memory.optimizer_state + report.memory.caches;
  const int64_t peak = std::max<int64_t>(1, lasting + use.at(use.peak));
  const int64_t needed = std::max(peak, report.memory.peak);  // with alignment and gaps, which have no step
  const MemoryLimit limit(report.device_memory, needed);
  std::string areas, keys;
  std::vector<int64_t> tops(chosen.size());
  for (const Layer& layer : layers) {
    for (size_t c = 0; c < tops.size(); ++c) tops[c] += layer.bytes[c];
    areas = area(layer.colour, tops, limit.top) + areas;
    if (std::any_of(layer.bytes.begin(), layer.bytes.end(), [](int64_t bytes) { return bytes > 0; }))
      keys += html_key(layer.colour, layer.name);
  }
  const std::string label = fmt::format("memory, {} at the peak, most in step {}{}",
                                        bytes_beside(needed, report.device_memory), use.peak, limit.text);
  std::string text = fmt::format(
      "<p class=keys>{}</p><p class=\"scale{}\">{}</p><svg class=chart viewBox=\"0 0 {} 100\" "
      "preserveAspectRatio=none role=img aria-label=\"{}\">{}{}",
      keys, report.device_memory > 0 && needed > report.device_memory ? " bad" : "", label, chosen.size(),
      label, areas, limit.line);
  if (axis)
    text += fmt::format("<g transform=\"scale({})\">{}</g>", static_cast<double>(chosen.size()) / kColumns,
                        axis->lines(200));
  return text + "</svg>";
}

}  // namespace

std::string step_drawing(const CostReport& report) {
  const MemoryUse& use = report.memory_over_steps;
  const bool timed = report.time && report.time->step_s > 0;
  std::string html;
  if (timed) {
    const TimeAxis axis(report.time->step_s);
    html = lanes(report, axis);
    if (!use.inputs.empty() && report.time->steps.size() == use.inputs.size())
      return html + memory_chart(report, fullest_by_time(report), &axis) + axis.labels();
    html += axis.labels();
  }
  if (use.inputs.empty()) return html;
  return html + memory_chart(report, fullest_by_step(use), nullptr) +
         fmt::format("<p class=ends><span>step 0</span><span>step {}</span></p>", use.inputs.size() - 1);
}

}  // namespace mtfc
