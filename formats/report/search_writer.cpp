#include "formats/report/search_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/cost/layout_difference.h"
#include "core/diagnostics/printable.h"
#include "formats/json/layout_keys.h"
#include "formats/text/quantity.h"
#include "formats/text/wrapped_text.h"

namespace mtfc {
namespace {

constexpr size_t kMostItems = 3;       // differences named between two layouts
constexpr double kWorthSaying = 0.05;  // as a share of the largest of them

std::string why_text(const SearchReport& report, const TableOptions& options) {
  if (report.layouts.size() < 2) return "";
  std::string text = "\nhow the others differ from [1]\n";
  const size_t width = std::to_string(report.layouts.size()).size() + std::string_view("[]").size();
  for (size_t i = 1; i < report.layouts.size(); ++i)
    text += wrapped(fmt::format("  {:>{}} ", fmt::format("[{}]", i + 1), width),
                    printable(loss_text(*report.layouts.front().report, *report.layouts[i].report)), " ",
                    options.width);
  return text;
}

std::string counts_of_families(const SearchReport& report, int64_t FoundLayout::*count) {
  std::string text;
  for (size_t i = 0; i < report.result.best.size(); ++i)
    if (const int64_t others = report.result.best[i].*count; others > 0)
      text += fmt::format("{}{} like [{}]", text.empty() ? "" : ", ", grouped(others), i + 1);
  return text;
}

std::string equals_text(const SearchReport& report, const TableOptions& options) {
  std::string text;
  if (const std::string equals = counts_of_families(report, &FoundLayout::equals); !equals.empty())
    text += wrapped("", "layouts with the same figures are not shown: " + equals, " ", options.width);
  if (const std::string variants = counts_of_families(report, &FoundLayout::variants); !variants.empty())
    text += wrapped(
        "",
        "variants that split more or less or swap axes, but make a difference of less than 1 %, are not "
        "shown: " +
            variants,
        " ", options.width);
  return text;
}

std::string fitted_text(const SearchReport& report, const TableOptions& options) {
  std::string fitted;
  size_t count = 0;
  for (size_t i = 0; i < report.result.best.size(); ++i)
    if (report.result.best[i].is_fitted) {
      fitted += fmt::format("{}[{}]", fitted.empty() ? "" : ", ", i + 1);
      ++count;
    }
  if (count == 0) return "";
  return wrapped("",
                 fmt::format("{} fit{} only with --memory-limit {}, which computes activations again", fitted,
                             count == 1 ? "s" : "", bytes_argument(report.memory_limit)),
                 " ", options.width);
}

std::string too_large_text(const SearchReport& report, const TableOptions& options) {
  const std::optional<FoundLayout>& found = report.result.too_large;
  if (!found) return "";
  const bool may_split = report.layouts.front().report->entry == "train" && found->layout.mesh.devices() > 1;
  return wrapped("",
                 fmt::format("{} would take {}, but needs {} per device, {} more than the limit of {}{}",
                             printable(layout_text(found->layout)), seconds_text(found->step_s),
                             bytes_beside(found->memory, report.memory_limit),
                             bytes_beside(found->memory - report.memory_limit, report.memory_limit),
                             memory_text(report.memory_limit),
                             may_split ? " (search --fit tries it with ZeRO, too)" : ""),
                 " ", options.width);
}

// What the search was over, without which "the fastest" says nothing.
std::string space_text(const SearchReport& report) {
  const SearchCounts& counts = report.result.counts;
  const std::vector<FoundLayout>& best = report.result.best;
  const bool fits_by_choice =
      std::any_of(best.begin(), best.end(), [](const FoundLayout& found) { return found.is_fitted; });
  return fmt::format(
      "of all rules for whole dimensions, without ZeRO, annotations and propagation{}, on {}",
      fits_by_choice ? ", with a quick choice of what is computed again (cost-report may find a better one)"
                     : "",
      counted(counts.meshes, "mesh", "es"));
}

// The shortest step found, which may be that of a variant of the layout that is listed.
std::string shortest_text(const SearchResult& result) {
  const std::string shortest = seconds_text(result.shortest_s);
  const bool is_listed = std::any_of(result.best.begin(), result.best.end(), [&](const FoundLayout& found) {
    return seconds_text(found.step_s) == shortest;
  });
  return shortest + (is_listed ? "" : ", the step of a variant that is not shown");
}

// One sentence: what was found, how sure that is, and whether as many devices are needed.
std::string verdict_text(const SearchReport& report, const TableOptions& options) {
  const SearchResult& result = report.result;
  std::string text;
  if (result.is_complete || result.is_proved)
    text =
        fmt::format("proved: no layout {}is faster than {}, {}{}",
                    result.fewer ? fmt::format("of {} ", counted(result.devices, "device")) : "",
                    shortest_text(result), space_text(report),
                    result.is_complete
                        ? ""
                        : "; stopped: layouts that were not tried may be as good as those below the first");
  else
    text = fmt::format("stopped: {}, {}", stop_text(result), space_text(report));
  if (result.fewer) {
    const int64_t few = result.fewer->layout.mesh.devices();
    if (result.fewer->step_s < (1 - kEquallyFast) * result.shortest_s)
      text += fmt::format("; {} take{} only {}", counted(few, "device"), few == 1 ? "s" : "",
                          seconds_text(result.fewer->step_s));
    else
      text += fmt::format("; {} {} as fast as {}", counted(few, "device"), few == 1 ? "is" : "are",
                          grouped(result.devices));
    if (result.best.front().layout.mesh.devices() != few)
      text += ": " + printable(layout_text(result.fewer->layout));
  }
  return wrapped("", text, " ", options.width);
}

std::string counts_text(const SearchReport& report, const TableOptions& options) {
  const SearchCounts& counts = report.result.counts;
  const std::string rule_sets = counts.rule_sets < 1e15 ? grouped(static_cast<int64_t>(counts.rule_sets))
                                                        : fmt::format("{:.3g}", counts.rule_sets);
  std::string text =
      fmt::format("searched {} rule set{} on {} mesh{} in {}: {} legal", rule_sets,
                  counts.rule_sets == 1 ? "" : "s", counts.meshes, counts.meshes == 1 ? "" : "es",
                  seconds_text(report.seconds), counts.legal ? grouped(*counts.legal) : "too many to count");
  std::string fates;
  const auto say = [&](int64_t count, const char* fate) {
    if (count > 0) fates += fmt::format("{}{} {}", fates.empty() ? "" : ", ", grouped(count), fate);
  };
  if (counts.legal) say(counts.mirrored, "mirror images of others");
  say(counts.left_out().value_or(0), report.result.is_complete ? "that can't be better" : "not evaluated");
  say(counts.compiled, "compiled");
  say(counts.too_large, "of these over the memory limit");
  say(counts.fitted, "of those computing activations again");
  say(counts.refused, "of these refused by the compiler");
  if (!fates.empty()) text += " (" + fates + ")";
  return wrapped("", text, " ", options.width);
}

using namespace schema_parts;

using Search = const SearchReport&;

Json number_or_null(const std::optional<int64_t>& number) {
  return number ? Json(*number) : Json();
}

const OutputObject<TimeCost> kFoundTime = {{"step_s", real(), &TimeCost::step_s},
                                           {"compute_s", real(), &TimeCost::compute_s},
                                           {"communication_s", real(), &TimeCost::communication_s},
                                           {"roofline_s", real(), &TimeCost::roofline_s},
                                           {"efficiency", real(), &TimeCost::efficiency}};

// One of the best layouts, with its report and that of the first.
struct Ranked {
  size_t rank;  // from 1
  const FoundLayout& found;
  const CostReport &cost, &best;

  bool is_first() const { return rank == 1; }
};
using One = const Ranked&;

const OutputObject<Ranked> kFoundLayout = {
    {"rank", whole("1 for the first"), &Ranked::rank},
    {split_keys(), [](One one) -> const Layout& { return one.found.layout; }},
    {"device_order", list_of(whole()),
     [](One one) { return unless_empty(one.found.layout.mesh.device_order()); }},
    {"time", kFoundTime, [](One one) -> const TimeCost& { return *one.cost.time; }},
    {"duplication", real(), [](One one) { return one.cost.arithmetic.duplication; }},
    {"bytes_sent_per_device", whole(), [](One one) { return one.cost.communication.total.bytes_sent; }},
    {"memory_bytes_per_device", whole(), [](One one) { return one.found.memory; }},
    {"computed_again_s", real(),
     [](One one) { return one.cost.recomputation ? one.cost.recomputation->seconds : 0; }},
    {"same_figures", whole("other layouts with the same figures"), [](One one) { return one.found.equals; }},
    {"variants", whole("other compiled layouts of the same family"),
     [](One one) { return one.found.variants; }},
    {"slower_by_s", real(),
     [](One one) { return when(!one.is_first(), one.cost.time->step_s - one.best.time->step_s); }},
    {"differences_s", map_schema({{"type", "number"}}, "by item"),
     [](One one) -> std::optional<Json> {
       if (one.is_first()) return {};
       Json differences = Json::object();
       for (const TimeDifference& difference : time_differences(one.best, one.cost))
         differences[difference.what] = difference.seconds;
       return differences;
     }},
    {"why", text("for people"),
     [](One one) { return when(!one.is_first(), loss_text(one.best, one.cost)); }}};

using Counts = const SearchCounts&;

const OutputObject<SearchCounts, bool> kSearchCounts = {
    {"rule_sets", real(), &SearchCounts::rule_sets},
    {"meshes", whole(), &SearchCounts::meshes},
    {"legal", or_null(whole()), [](Counts counts) { return number_or_null(counts.legal); }},
    {"mirror_images", or_null(whole()),
     [](Counts counts) { return counts.legal ? Json(counts.mirrored) : Json(); }},
    {"candidates", or_null(whole()),
     [](Counts counts) { return counts.legal ? Json(*counts.legal - counts.mirrored) : Json(); }},
    {"compiled", whole(), &SearchCounts::compiled},
    {"refused", whole(), &SearchCounts::refused},
    {"over_memory", whole(), &SearchCounts::too_large},
    {"no_better", or_null(whole()),
     [](Counts counts, bool is_complete) {
       return is_complete ? number_or_null(counts.left_out()) : Json(0);
     }},
    {"not_looked_at", or_null(whole()),
     [](Counts counts, bool is_complete) {
       return is_complete ? Json(0) : number_or_null(counts.left_out());
     }},
    {"branches", whole(), &SearchCounts::visited}};

const OutputObject<FoundLayout> kTooLarge = {
    {"mesh", reference("mesh"), [](const FoundLayout& found) { return json_of(found.layout.mesh); }},
    {"layout", reference("splits"), [](const FoundLayout& found) { return json_of(found.layout); }},
    {"step_s", real(), &FoundLayout::step_s},
    {"memory_bytes_per_device", whole(), &FoundLayout::memory}};

const OutputObject<FoundLayout> kFewer = {{split_keys(), &FoundLayout::layout},
                                          {"step_s", real(), &FoundLayout::step_s},
                                          {"memory_bytes_per_device", whole(), &FoundLayout::memory}};

const OutputObject<SearchReport> kSearch = {
    {"mtfc_search", version(), kFirstVersion},
    {"model", text(), [](Search report) { return report.layouts.front().report->model; }},
    {"entry", text(), [](Search report) { return report.layouts.front().report->entry; }},
    {"hardware", text(), [](Search report) { return report.layouts.front().report->time->hardware; }},
    {"memory_limit", or_null(whole("bytes on a device")),
     [](Search report) { return report.memory_limit > 0 ? Json(report.memory_limit) : Json(); }},
    {"proved", flag("no layout is faster than the first one"),
     [](Search report) { return report.result.is_proved; }},
    {"complete", flag("the search was not stopped"), [](Search report) { return report.result.is_complete; }},
    {"shortest_step_s", real(), [](Search report) { return report.result.shortest_s; }},
    {"lower_bound_s", real("no layout is faster; 0 if there was no time to find how much"),
     [](Search report) { return report.result.bound_s; }},
    {"gap", real(), [](Search report) { return report.result.gap(); }},
    {"seconds", real("that the search took"), &SearchReport::seconds},
    {"counts", kSearchCounts.schema(),
     [](Search report) { return kSearchCounts.json(report.result.counts, report.result.is_complete); }},
    {"layouts", list_of(kFoundLayout.schema(), "the best first"),
     [](Search report) {
       Json layouts = Json::array();
       for (size_t i = 0; i < report.layouts.size(); ++i)
         layouts.push_back(kFoundLayout.json(
             {i + 1, report.result.best[i], *report.layouts[i].report, *report.layouts.front().report}));
       return layouts;
     }},
    {"as_fast_on_fewer_devices", kFewer, [](Search report) { return report.result.fewer; }},
    {"faster_but_too_large", kTooLarge, [](Search report) { return report.result.too_large; }}};

using Annotations = const AnnotationReport&;

bool is_bounded(Annotations report) {
  return report.found.is_complete || report.found.bound > 0;
}

const OutputObject<AnnotationReport> kAnnotationSearch = {
    {"mtfc_annotation_search", version(), kFirstVersion},
    {"model", text(), [](Annotations report) { return report.layout.report->model; }},
    {"entry", text(), [](Annotations report) { return report.layout.report->entry; }},
    {"mesh", reference("mesh"), [](Annotations report) { return json_of(report.found.layout.mesh); }},
    {"rules", reference("splits"), [](Annotations report) { return json_of(report.found.layout); }},
    {"limited_rules", reference("limited_rules"),
     [](Annotations report) { return limited_rules_json(report.found.layout); }},
    {"shardings", map_schema(reference("splits"), "annotations"),
     [](Annotations report) { return annotations_json(report.found.layout); }},
    {"propagate", flag(), [](Annotations report) { return report.found.layout.propagate; }},
    {"complete", flag(), [](Annotations report) { return report.found.is_complete; }},
    {"cost", whole(), [](Annotations report) { return report.found.cost; }},
    {"bound", or_null(any_whole()),
     [](Annotations report) { return is_bounded(report) ? Json(report.found.bound) : Json(); }},
    {"gap", or_null(real()),
     [](Annotations report) { return is_bounded(report) ? Json(report.found.gap()) : Json(); }},
    {"bytes_sent_per_device", whole(),
     [](Annotations report) { return report.layout.report->communication.total.bytes_sent; }},
    {"memory_bytes_per_device", whole(),
     [](Annotations report) { return report.layout.report->memory.peak; }},
    {"meshes", whole("that were searched"), &AnnotationReport::meshes},
    {"seconds", real("that the search took"), &AnnotationReport::seconds},
    {"step_s", real("predicted"), [](Annotations report) {
       const std::optional<TimeCost>& time = report.layout.report->time;
       return when(time.has_value(), time ? time->step_s : 0);
     }}};

}  // namespace

std::string layout_text(const Layout& layout) {
  return fmt::format("{} {}", layout.mesh.axes().empty() ? "one device" : to_string(layout.mesh),
                     to_string(layout).empty() ? "without rules" : to_string(layout));
}

std::string stop_text(const SearchResult& result) {
  if (result.is_proved)
    return fmt::format(
        "no layout is faster than {}, but layouts that were not tried may be as good as those below the "
        "first",
        shortest_text(result));
  if (result.bound_s <= 0)
    return "the best layout so far is not proved to be the best, and there was no time to find how much "
           "faster another one could be";
  // Beside the step in the list, not that of a variant which is shorter by less than 1 %.
  double found_s = std::numeric_limits<double>::infinity();
  for (const FoundLayout& found : result.best) found_s = std::min(found_s, found.step_s);
  return fmt::format(
      "the best layout so far is not proved to be the best: none is faster than {}, which is {:.2g} % "
      "below the {} found",
      seconds_text(result.bound_s), 100 * (1 - result.bound_s / found_s), seconds_text(found_s));
}

std::string loss_text(const CostReport& best, const CostReport& other) {
  const double slower = other.time->step_s - best.time->step_s;
  std::string text = fmt::format("{}{}", slower < 0 ? "-" : "+", seconds_text(std::abs(slower)));
  const bool same_mesh = best.layout.mesh.axes() == other.layout.mesh.axes();
  const std::string rules = same_mesh ? rule_differences(best.layout, other.layout) : "";
  if (!rules.empty()) text += " with " + rules;
  const std::vector<TimeDifference> differences = time_differences(best, other);
  size_t said = 0;
  for (const auto& [what, seconds] : differences) {
    if (seconds == 0 || std::abs(seconds) < kWorthSaying * std::abs(differences.front().seconds)) continue;
    if (said++ == kMostItems) break;
    // More overlap with kernels makes a step shorter.
    const bool more = (seconds > 0) != (what == "overlap");
    text += fmt::format("{}{} {} {}", said == 1 ? ": " : ", ", seconds_text(std::abs(seconds)),
                        more ? "more" : "less", what);
    if (what == "products" && other.arithmetic.duplication > best.arithmetic.duplication * 1.005)
      text += fmt::format(" ({:.3g} times the useful ones)", other.arithmetic.duplication);
  }
  return text;
}

std::string search_table(const SearchReport& report, const TableOptions& options) {
  TableOptions in_order = options;
  in_order.in_order = true;
  in_order.totals = options.details;
  const SearchCounts& counts = report.result.counts;
  if (!report.result.is_complete) in_order.tried = counts.compiled - counts.refused;
  std::string text = report_table(report.layouts, in_order);
  if (options.details) text += why_text(report, options);
  text += "\n" + fitted_text(report, options);
  if (options.details) text += equals_text(report, options);
  text += too_large_text(report, options);
  if (options.details) text += counts_text(report, options);
  return text + verdict_text(report, options);
}

std::string cost_text(const AnnotatedLayout& found) {
  if (!found.is_complete)
    return fmt::format(
        "cost {}, the least of what was looked at; the search over annotations was stopped, and others may "
        "cost less{}",
        grouped(found.cost),
        found.bound > 0
            ? fmt::format(": the cost is at most {:.2g} % above the least of all", 100 * found.gap())
            : "");
  return found.gap() == 0 ? fmt::format("cost {}, the least of all annotations", grouped(found.cost))
                          : fmt::format("cost {}, at most {:.2g} % above the least of all annotations",
                                        grouped(found.cost), 100 * found.gap());
}

std::string search_table(const AnnotationReport& report, const TableOptions& options) {
  std::string text = report_table({report.layout}, options) + "\nannotations\n";
  const Layout& layout = report.found.layout;
  for (const Annotation& annotation : layout.annotations) {
    std::string splits;
    for (const Rule& split : annotation.splits)
      splits += fmt::format("{}{}/{}", splits.empty() ? "" : ", ", split.dim, layout.mesh.names(split.axes));
    text +=
        wrapped("  ", printable(fmt::format("{}: {}", annotation.pattern, splits.empty() ? "whole" : splits)),
                " ", options.width);
  }
  return text + "\n" +
         wrapped(
             "",
             fmt::format("searched all annotations on {} mesh{} with at most {} ax{} per dimension in {}: {}",
                         report.meshes, report.meshes == 1 ? "" : "es", report.most_axes,
                         report.most_axes == 1 ? "is" : "es", seconds_text(report.seconds),
                         cost_text(report.found)),
             " ", options.width);
}

std::string search_json(const AnnotationReport& report) {
  return dump_lines(kAnnotationSearch.json(report), 2);
}

std::string search_json(const SearchReport& report) {
  return dump_lines(kSearch.json(report), 3);
}

std::string search_schema() {
  return output_schema("mtfc search", "What mtfc search --format json prints, with --annotations or without",
                       {{"oneOf", {kSearch.schema(), kAnnotationSearch.schema()}}});
}

}  // namespace mtfc
