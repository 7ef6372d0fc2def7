#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/diagnostics/printable.h"
#include "formats/text/html_text.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

constexpr int64_t kColumns = 1000;  // columns of a drawing, more than any screen can show

struct Layer {
  std::string name;
  const char* colour;
  std::vector<int64_t> bytes;  // by column
};

// The bytes at the chosen step of each column; since that is the fullest one, no peak is lost.
std::vector<int64_t> columns_of(const std::vector<int64_t>& steps, const std::vector<size_t>& chosen) {
  std::vector<int64_t> columns;
  for (const size_t step : chosen) columns.push_back(steps[step]);
  return columns;
}

// Returns the fullest step of each column.
std::vector<size_t> fullest_steps(const MemoryUse& use) {
  const auto steps = static_cast<int64_t>(use.inputs.size());
  const int64_t columns = std::min(steps, kColumns);
  std::vector<size_t> chosen;
  for (int64_t c = 0; c < columns; ++c) {
    auto best = static_cast<size_t>(c * steps / columns);
    for (auto s = best; s < static_cast<size_t>((c + 1) * steps / columns); ++s)
      if (use.at(s) > use.at(best)) best = s;
    chosen.push_back(best);
  }
  return chosen;
}

// The area between the layers below and what `layer` adds to them.
std::string area(const Layer& layer, std::vector<int64_t>& below, double peak) {
  std::string upper, lower;
  const auto y = [&](int64_t bytes) { return 100 - 100 * static_cast<double>(bytes) / peak; };
  for (size_t c = 0; c < layer.bytes.size(); ++c) {
    const int64_t top = below[c] + layer.bytes[c];
    upper += fmt::format("{}{} {:.2f}H{}", c == 0 ? "M" : "L", c, y(top), c + 1);
    lower = fmt::format("L{} {:.2f}H{}", c + 1, y(below[c]), c) + lower;
    below[c] = top;
  }
  return fmt::format("<path fill=\"{}\" d=\"{}{}Z\"/>", layer.colour, upper, lower);
}

// A lane of the timeline; steps too short to be told apart are drawn as one.
class Lane {
 public:
  explicit Lane(double total) : total_(total) {}

  void add(const StepCost& step) {
    busy_ += step.time.end_s - step.time.begin_s;
    const double from = step.time.begin_s / total_ * kColumns, to = step.time.end_s / total_ * kColumns;
    if (count_ > 0 && from <= to_ + 0.2 && to - from_ < 1) {
      to_ = std::max(to, to_);
      ++count_;
      return;
    }
    flush();
    from_ = from;
    to_ = to;
    count_ = 1;
    phase_ = step.phase;
    name_ = fmt::format("{} {}, {}", step.kind, step.name, seconds_text(step.time.seconds));
  }

  double busy() const { return busy_; }
  std::string text() {
    flush();
    return text_;
  }

 private:
  void flush() {
    if (count_ == 0) return;
    const char* colour = phase_ == Phase::kForward    ? "var(--forward)"
                         : phase_ == Phase::kBackward ? "var(--backward)"
                                                      : "var(--update)";
    const std::string more = count_ > 1 ? fmt::format(" and {} more", count_ - 1) : "";
    text_ += fmt::format(
        "<rect x=\"{:.2f}\" width=\"{:.2f}\" height=\"10\" fill=\"{}\"><title>{}{}</title></rect>", from_,
        std::max(to_ - from_, 0.3), colour, html_escaped(name_), more);
    count_ = 0;
  }

  double total_, busy_ = 0, from_ = 0, to_ = 0;
  int count_ = 0;
  Phase phase_ = Phase::kForward;
  std::string name_, text_;
};

std::string key(const char* colour, const std::string& text) {
  return fmt::format("<span class=key><i style=\"background:{}\"></i>{}</span> ", colour, html_escaped(text));
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string result;
  for (const char letter : printable(text)) {
    if (letter == '<')
      result += "&lt;";
    else if (letter == '>')
      result += "&gt;";
    else if (letter == '&')
      result += "&amp;";
    else if (letter == '"')
      result += "&quot;";
    else
      result += letter;
  }
  return result;
}

// Variables and what the optimizer keeps for them: those of each group, then the others.
std::vector<Layer> lasting_layers(const MemoryCost& memory, size_t columns) {
  constexpr std::array<const char*, 3> kColours = {"var(--c5)", "var(--c6)", "var(--c7)"};
  std::vector<Layer> layers;
  int64_t rest = memory.variables + memory.optimizer_state + memory.caches;
  for (const auto& [name, group] : memory.groups) {
    const int64_t bytes = group.variables + group.optimizer_state;
    layers.push_back({"variables and state of " + name, kColours[layers.size() % kColours.size()],
                      std::vector<int64_t>(columns, bytes)});
    rest -= bytes;
  }
  layers.push_back({layers.empty() ? "variables and state" : "other variables and state", "var(--c1)",
                    std::vector<int64_t>(columns, rest)});
  return layers;
}

std::string memory_drawing(const CostReport& report) {
  const MemoryUse& use = report.memory_over_steps;
  if (use.inputs.empty()) return "";
  const std::vector<size_t> chosen = fullest_steps(use);
  const int64_t lasting = report.memory.variables + report.memory.optimizer_state + report.memory.caches;
  std::vector<Layer> layers = lasting_layers(report.memory, chosen.size());
  layers.push_back({"inputs", "var(--c2)", columns_of(use.inputs, chosen)});
  layers.push_back({"activations", "var(--c3)", columns_of(use.activations, chosen)});
  layers.push_back({"gradients", "var(--c8)", columns_of(use.gradients, chosen)});
  layers.push_back({"workspace", "var(--c4)", columns_of(use.workspace, chosen)});
  const int64_t peak = std::max<int64_t>(1, lasting + use.at(use.peak));
  std::vector<int64_t> below(chosen.size());
  std::string text = "<p class=keys>";
  for (const Layer& layer : layers) text += key(layer.colour, layer.name);
  text += fmt::format(
      "</p><p class=scale>{}</p><svg class=chart viewBox=\"0 0 {} 100\" preserveAspectRatio=none role=img "
      "aria-label=\"memory over the steps\">",
      bytes_text(peak), chosen.size());
  for (const Layer& layer : layers) text += area(layer, below, static_cast<double>(peak));
  return text + fmt::format(
                    "</svg><p class=ends><span>step 0</span><span>most in step {}</span><span>step "
                    "{}</span></p>",
                    use.peak, use.inputs.size() - 1);
}

std::string timeline_drawing(const CostReport& report) {
  if (!report.time || report.time->step_s <= 0) return "";
  const double total = report.time->step_s;
  // A step that starts early may end late: a lane takes its steps in order of time.
  std::vector<const StepCost*> steps;
  for (const StepCost& step : report.steps)
    if (step.time.end_s > step.time.begin_s) steps.push_back(&step);
  std::stable_sort(steps.begin(), steps.end(),
                   [](const StepCost* a, const StepCost* b) { return a->time.begin_s < b->time.begin_s; });
  std::map<std::string, Lane> lanes;
  for (const StepCost* step : steps) {
    const std::string axes = report.layout.mesh.names(step->axes);
    lanes.try_emplace(axes.empty() ? "" : "communication over " + axes, total).first->second.add(*step);
  }
  std::string text = "<p class=keys>" + key("var(--forward)", "forward") +
                     key("var(--backward)", "backward") + key("var(--update)", "update") + "</p>";
  for (auto& [name, lane] : lanes)
    text += fmt::format(
        "<p class=scale>{}, busy for {} ({:.0f} %)</p><svg class=lane viewBox=\"0 0 {} 10\" "
        "preserveAspectRatio=none role=img aria-label=\"timeline\">{}</svg>",
        name.empty() ? "kernels" : html_escaped(name), seconds_text(lane.busy()), 100 * lane.busy() / total,
        kColumns, lane.text());
  return text + fmt::format("<p class=ends><span>0</span><span>{}</span></p>", seconds_text(total));
}

}  // namespace mtfc
