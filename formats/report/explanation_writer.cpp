#include "formats/report/explanation_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/diagnostics/printable.h"
#include "core/explain/halos.h"
#include "core/program/reshard_groups.h"
#include "formats/json/ordered_json.h"
#include "formats/text/quantity.h"
#include "formats/text/wrapped_text.h"

namespace mtfc {
namespace {

constexpr size_t kMostShown = 5;  // alternatives
constexpr size_t kMostReaders = 3;
constexpr size_t kMostInstead = 3;
constexpr size_t kMostHalos = 16;

std::string place_text(const Location& place) {
  if (place.file.empty() && place.line == 0) return place.pointer;
  return place.line > 0 ? fmt::format("{}:{}", place.file, place.line) : place.file;
}

std::string in_parentheses(const std::string& text) {
  return text.empty() ? "" : " (" + text + ")";
}

std::string json_text(const std::vector<Rule>& splits, const Mesh& mesh) {
  std::string text;
  for (const Rule& split : splits) {
    std::string axes;
    for (const int axis : split.axes) axes += (axes.empty() ? "" : ", ") + Json(mesh.names({axis})).dump();
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", Json(split.dim).dump(),
                        split.axes.size() == 1 ? axes : "[" + axes + "]");
  }
  return "{" + text + "}";
}

std::string lines(const std::string& head, const std::string& text, const ExplanationStyle& style) {
  return wrapped(head, printable(text), " ", style.width);
}

std::string percent_text(double now, double before) {
  if (now == before) return "same";
  if (before == 0) return "";
  const double percent = 100.0 * (now - before) / before;
  return std::abs(percent) >= 10 ? fmt::format("{:+.0f} %", percent) : fmt::format("{:+.2g} %", percent);
}

// The figures of the entry point as it is and with a change, one below the other.
std::string compared_text(const LayoutFigures& now, const LayoutFigures& after, int64_t device_memory) {
  std::vector<std::vector<std::string>> rows = {{"", "now", "after", ""}};
  if (now.seconds && after.seconds)
    rows.push_back({"predicted step time", seconds_text(*now.seconds), seconds_text(*after.seconds),
                    percent_text(*after.seconds, *now.seconds)});
  const auto add = [&](const char* what, int64_t a, int64_t b, auto text) {
    rows.push_back({what, text(a), text(b), percent_text(static_cast<double>(b), static_cast<double>(a))});
  };
  add("cost", now.cost, after.cost, grouped);
  add("bytes sent per device", now.bytes, after.bytes, grouped);
  add("collectives", now.collectives, after.collectives, grouped);
  add("arithmetic per device", now.flops, after.flops,
      [](int64_t count) { return count_text(count, "FLOP"); });
  add("memory per device", now.memory, after.memory,
      [&](int64_t bytes) { return bytes_beside(bytes, device_memory); });
  return columns(rows, 1);
}

// What plans are compared by, and how it differs from that of `now`.
std::vector<std::string> figures_row(const std::string& what, const LayoutFigures& figures,
                                     const LayoutFigures& now, int64_t device_memory) {
  const bool is_timed = figures.seconds && now.seconds;
  return {what,
          is_timed ? seconds_text(*figures.seconds) : grouped(figures.cost),
          is_timed ? percent_text(*figures.seconds, *now.seconds)
                   : percent_text(static_cast<double>(figures.cost), static_cast<double>(now.cost)),
          grouped(figures.bytes),
          grouped(figures.collectives),
          bytes_beside(figures.memory, device_memory)};
}

std::string origin_text(const FixedBy& origin) {
  switch (origin.kind) {
    case FixedBy::Kind::kAnnotation:
      return fmt::format("the annotation \"{}\"{}", origin.text, in_parentheses(place_text(origin.location)));
    case FixedBy::Kind::kRule:
      return origin.text.empty()
                 ? "the rules"
                 : fmt::format("the rule {}{}", origin.text, in_parentheses(place_text(origin.location)));
    case FixedBy::Kind::kStateSplit:
      return fmt::format("\"shard_state_over\" of the {}{}", origin.text,
                         in_parentheses(place_text(origin.location)));
    case FixedBy::Kind::kOtherEntry:
      return "the plan of another entry point, which decides how variables are split";
    case FixedBy::Kind::kChoice:
      return "the choice of the plan";
    case FixedBy::Kind::kNothing:
      break;
  }
  return "";
}

std::string reason_text(const AxisOrigin& split, const Mesh& mesh) {
  std::string text = fmt::format("'{}' is split over {}", split.dim, mesh.names(split.axes));
  const std::string origin = origin_text(split.fixed);
  if (origin.empty()) return text + ", which the plan chose because it costs least";
  text += " by " + origin;
  if (split.path.size() < 2) return text;
  text += fmt::format(" of '{}'", split.path.front().tensor);
  for (size_t i = 1; i < split.path.size(); ++i)
    text += fmt::format(" -> {} '{}'", split.path[i].operation, split.path[i].tensor);
  return text;
}

std::string why_whole(const TensorExplanation& explanation) {
  const std::string whole = "it is whole on every device: ";
  switch (explanation.fixed.kind) {
    case FixedBy::Kind::kAnnotation:
    case FixedBy::Kind::kOtherEntry:
    case FixedBy::Kind::kStateSplit:
      return "it is whole on every device because of " + origin_text(explanation.fixed);
    case FixedBy::Kind::kChoice:
      return whole + (explanation.is_reached ? "the plan chose that among what rules and annotations offer"
                                             : "no axis reaches its dimensions");
    case FixedBy::Kind::kRule:
      return whole + "the rules leave it whole";
    case FixedBy::Kind::kNothing:
      break;
  }
  return whole + "no rule splits its dimensions, and no annotation names it";
}

// Why a tensor has no other sharding.
std::string why_alone(const TensorExplanation& explanation, const Mesh& mesh) {
  if (mesh.devices() == 1) return "none: there is one device";
  if (explanation.type.dims.empty()) return "none: it has no dimensions";
  if (!explanation.can_be_annotated) return "none: the compiler has made it, so annotations can't name it";
  return "none: the layout allows no annotation that splits it otherwise";
}

// `relu 'y'`, or `the output 'loss'`.
std::string short_text(const OperationPlace& operation) {
  return fmt::format("{}{} '{}'", operation.tensors.empty() ? "the " : "", operation.kind, operation.name);
}

std::string operations_text(const std::vector<OperationPlace>& operations, const ModelNames& names) {
  std::string text;
  for (size_t i = 0; i < std::min(operations.size(), kMostReaders); ++i)
    text += (i == 0 ? "" : ", ") + operation_text(operations[i], names);
  if (operations.size() > kMostReaders) text += fmt::format(" and {} more", operations.size() - kMostReaders);
  return text.empty() ? "nothing" : text;
}

std::string change_of_form(const ReshardStep& reshard, const Mesh& mesh) {
  // The result of an operation that moves pieces has dimensions of its own.
  if (!reshard.moves.empty()) return fmt::format("pieces for {}", reshard.moves);
  return fmt::format("{} -> {}", to_string(reshard.from, mesh), to_string(reshard.to, mesh));
}

std::string interval_text(const Interval& interval) {
  return interval.size() > 0 ? fmt::format("{}..{}", interval.begin, interval.end) : "nothing";
}

// A table for each dimension: the regions that windows read, and how much of them each shard lacks.
std::string halos_text(const TensorForm& from, const TensorForm& to, const Mesh& mesh) {
  std::string text;
  for (const DimHalos& halos : halos_between(from, to, mesh)) {
    text += fmt::format("\nhalo along '{}' over {}\n", to.dims()[halos.dim].name,
                        mesh.names(to.sharding().dims[halos.dim]));
    std::vector<std::vector<std::string>> rows = {
        {"shard", "holds", "reads", "left", "right", "from others"}};
    for (size_t i = 0; i < std::min(halos.shards.size(), kMostHalos); ++i) {
      const Halo& halo = halos.shards[i];
      rows.push_back({std::to_string(i), interval_text(halo.holds), interval_text(halo.reads),
                      grouped(halo.left()), grouped(halo.right()), grouped(halo.neighbours)});
    }
    text += columns(rows, 1);
    if (halos.shards.size() > kMostHalos)
      text += fmt::format("  and {} more\n", grouped(static_cast<int64_t>(halos.shards.size() - kMostHalos)));
  }
  return text;
}

std::string bytes_of(const ReshardStep& reshard) {
  return reshard.runs == 1 ? fmt::format("{} bytes", grouped(reshard.bytes))
                           : fmt::format("{} times {} bytes", grouped(reshard.runs), grouped(reshard.bytes));
}

std::string reshard_line(const ReshardStep& reshard, const Mesh& mesh, const std::string& bytes) {
  return fmt::format("{} of '{}' over {}: {}, {}", to_string(reshard.collective.kind), reshard.tensor,
                     mesh.names(reshard.collective.axes), change_of_form(reshard, mesh), bytes);
}

std::string reshard_line(const ReshardStep& reshard, const Mesh& mesh) {
  return reshard_line(reshard, mesh, bytes_of(reshard));
}

// The first of the operations that wait for what a collective gives, and how many tensors travel with it.
std::string company_text(const ReshardStep& reshard) {
  std::string text;
  if (!reshard.readers.empty()) text += ", for " + short_text(reshard.readers.front());
  if (reshard.readers.size() > 1) text += fmt::format(" and {} more", reshard.readers.size() - 1);
  if (reshard.others > 0)
    text += fmt::format(", together with {} other tensor{}", reshard.others, reshard.others == 1 ? "" : "s");
  return text;
}

}  // namespace

std::string change_text(const LayoutChange& change, const Layout& layout) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", and ") + part; };
  if (!change.removed.empty()) add(fmt::format("remove {} from \"shardings\"", Json(change.removed).dump()));
  if (change.annotation) {
    const std::string pattern = Json(change.annotation->pattern).dump(),
                      splits = json_text(change.annotation->splits, layout.mesh);
    const bool is_there =
        std::any_of(layout.annotations.begin(), layout.annotations.end(),
                    [&](const Annotation& old) { return old.pattern == change.annotation->pattern; });
    add(is_there ? fmt::format("change {} in \"shardings\" to {}", pattern, splits)
                 : fmt::format("add {}: {} to \"shardings\"", pattern, splits));
  }
  if (change.propagates) add("set \"propagate\": true");
  return text;
}

std::string operation_text(const OperationPlace& operation, const ModelNames& names) {
  if (operation.source.empty() && operation.tensors.empty()) return short_text(operation);
  const Location place = names.place(operation.name);
  const std::string where = place.line > 0 ? place_text(place) : operation.source;
  return fmt::format("{} (gives '{}'{})", operation.kind, operation.name, where.empty() ? "" : ", " + where);
}

namespace {

std::string alternatives_text(const TensorExplanation& explanation, const ExplanationStyle& style) {
  const Mesh& mesh = style.program.layout.mesh;
  const std::vector<Alternative>& all = explanation.alternatives;
  if (all.empty()) return "  " + why_alone(explanation, mesh) + "\n";
  std::vector<std::vector<std::string>> rows = {
      {"", explanation.figures.seconds ? "step time" : "cost", "", "bytes sent", "collectives", "memory"}};
  rows.push_back(figures_row("as it is", explanation.figures, explanation.figures, style.device_memory));
  rows.back()[2] = "";
  for (size_t i = 0; i < std::min(all.size(), kMostShown); ++i)
    rows.push_back(figures_row(printable(json_text(splits_of(explanation.type.dims, all[i].sharding), mesh)),
                               all[i].figures, explanation.figures, style.device_memory));
  std::string text = columns(rows, 1);
  if (all.size() > kMostShown) {
    const size_t more = all.size() - kMostShown;
    text += fmt::format("  {} other{} {} as much as these or more\n", more, more == 1 ? "" : "s",
                        more == 1 ? "costs" : "cost");
  }
  if (explanation.untried > 0)
    text += fmt::format("  {} {} not tried\n", grouped(static_cast<int64_t>(explanation.untried)),
                        explanation.untried == 1 ? "was" : "were");
  return text;
}

// The tensors that the step moves, and which of them the explanation is about.
std::string moved_text(const ReshardExplanation& explanation, const ExplanationStyle& style) {
  const ReshardStep& reshard = explanation.reshard;
  const Mesh& mesh = style.program.layout.mesh;
  const size_t step = reshard.step.index();
  if (explanation.others.empty())
    return lines("", fmt::format("step {}: {}", step, reshard_line(reshard, mesh)), style) + "\nwhy\n";
  std::string text = fmt::format("step {} moves {} tensors together\n", step, explanation.others.size() + 1);
  text += lines("  ", reshard_line(reshard, mesh), style);
  for (const ReshardStep& other : explanation.others) text += lines("  ", reshard_line(other, mesh), style);
  return text + "\n" + lines("", fmt::format("why, for the largest, '{}'", reshard.tensor), style);
}

std::string removal_title(const ReshardExplanation& explanation) {
  return explanation.others.empty() ? "to remove it"
                                    : fmt::format("to remove '{}' from it", explanation.reshard.tensor);
}

// `to remove it`, and what that takes.
std::string removal_head(const ReshardExplanation& explanation) {
  const LayoutFigures &now = explanation.figures, &after = explanation.removal->figures;
  std::string text = removal_title(explanation);
  const bool is_dearer = costs_less(now, after), is_larger = needs_more(after, now);
  if (is_dearer) text += now.seconds ? ", in a longer step" : ", at a higher cost";
  if (is_larger)
    text += fmt::format("{} with more arithmetic or memory on each device", is_dearer ? " and" : ",");
  return text;
}

}  // namespace

std::string layout_text(const ExplanationStyle& style) {
  const Layout& layout = style.program.layout;
  if (layout.mesh.axes().empty()) return "one device\n";
  return lines("", fmt::format("mesh {}, layout {}", to_string(layout.mesh), described(layout)), style);
}

std::string explanation_text(const TensorExplanation& explanation, const ExplanationStyle& style) {
  const Mesh& mesh = style.program.layout.mesh;
  const TensorForm own{explanation.type.dims, explanation.sharding};
  std::string text = lines("",
                           fmt::format("{}: {} {}{}", explanation.tensor, to_string(explanation.type.dtype),
                                       to_string(own, mesh), in_parentheses(place_text(explanation.place))),
                           style);
  text += "\nwhy\n";
  if (explanation.splits.empty()) text += lines("  ", why_whole(explanation), style);
  for (const AxisOrigin& split : explanation.splits) text += lines("  ", reason_text(split, mesh), style);
  for (const TensorForm& held : explanation.held)
    text += lines("  ", fmt::format("it is also held as {}", to_string(held, mesh)), style);
  for (const TensorForm& held : explanation.held) text += halos_text(own, held, mesh);
  text += "\nshardings that an annotation can set\n" + alternatives_text(explanation, style);
  text += "\ncollectives that move it\n";
  if (explanation.reshards.empty()) text += "  none\n";
  return text + reshards_text(explanation.reshards, style);
}

std::string explanation_text(const ReshardExplanation& explanation, const ExplanationStyle& style) {
  const Layout& layout = style.program.layout;
  const ReshardStep& reshard = explanation.reshard;
  std::string text = moved_text(explanation, style);
  text += lines("  given by  ", operation_text(reshard.maker, style.program.names), style);
  text += lines("  needed by ", operations_text(reshard.readers, style.program.names), style);
  if (reshard.moves.empty()) text += halos_text(reshard.from, reshard.to, layout.mesh);
  if (!explanation.removal)
    return text + "\n" + lines("", removal_title(explanation), style) +
           lines("  ", fmt::format("none of the {} changes that were tried does", explanation.tried), style);
  text += "\n" + lines("", removal_head(explanation), style);
  text += lines("  ", change_text(explanation.removal->change, layout), style);
  text += "\n" + compared_text(explanation.figures, explanation.removal->figures, style.device_memory);
  if (!explanation.instead.empty()) text += "\n";
  for (size_t i = 0; i < std::min(explanation.instead.size(), kMostInstead); ++i)
    text += lines("  instead: ", reshard_line(explanation.instead[i], layout.mesh), style);
  if (explanation.instead.size() > kMostInstead)
    text += fmt::format("  and {} more\n", explanation.instead.size() - kMostInstead);
  if (explanation.removal->figures.bytes == explanation.figures.bytes)
    text += "  as many bytes are sent in all as now\n";
  if (explanation.cheaper) {
    text += "\ncheaper, but with more arithmetic or memory on each device\n";
    text += lines("  ", change_text(explanation.cheaper->change, layout), style);
    text += "\n" + compared_text(explanation.figures, explanation.cheaper->figures, style.device_memory);
  }
  return text;
}

std::string reshards_text(const std::vector<ReshardStep>& reshards, const ExplanationStyle& style) {
  size_t digits = 1;
  for (const ReshardStep& reshard : reshards)
    digits = std::max(digits, std::to_string(reshard.step.index()).size());
  std::string text;
  for (const ReshardStep& reshard : reshards) {
    const std::string line = reshard_line(reshard, style.program.layout.mesh) + company_text(reshard);
    text += wrapped(fmt::format("  {:>{}}  ", reshard.step.index(), digits), printable(line), " ",
                    style.line_width);
  }
  return text;
}

namespace {

bool is_repeated(const CollectiveGroup& group) {
  return group.members.size() > 1;
}

// A line for each group: the number of its first step, and how many it has if one of the groups has several.
std::string groups_text(const std::vector<CollectiveGroup>& groups, const ExplanationStyle& style) {
  const Mesh& mesh = style.program.layout.mesh;
  const bool has_counts = std::any_of(groups.begin(), groups.end(), is_repeated);
  const auto number = [](const CollectiveGroup& group) {
    return std::to_string(group.members.front()->step.index());
  };
  size_t digits = has_counts ? std::string("step").size() : 1;
  for (const CollectiveGroup& group : groups) digits = std::max(digits, number(group).size());
  std::string text = has_counts ? fmt::format("  {:>{}}  count  collective\n", "step", digits) : "";
  for (const CollectiveGroup& group : groups) {
    const ReshardStep shown = folded(group);
    std::string head = fmt::format("  {:>{}}  ", number(group), digits);
    if (has_counts) head += fmt::format("{:>5}  ", group.members.size());
    const std::string bytes =
        is_repeated(group) ? fmt::format("{} bytes in all", grouped(group.bytes)) : bytes_of(shown);
    text += wrapped(head, printable(reshard_line(shown, mesh, bytes) + company_text(shown)), " ",
                    style.line_width);
  }
  return text;
}

// The groups that send most, the largest first.
std::vector<CollectiveGroup> largest_groups(size_t most, const ExplanationStyle& style) {
  std::vector<CollectiveGroup> groups = collective_groups(style.program.reshards, style.program.layout.mesh);
  if (groups.size() > most) groups.resize(most);
  return groups;
}

}  // namespace

std::string list_text(size_t most, const ExplanationStyle& style) {
  const auto& [cost, seconds, bytes, collectives, memory, flops] = style.program.figures;
  const EntryPoint& entry = style.program.entry;
  std::string head =
      fmt::format("{} of {}: {}, {} bytes sent per device, cost {}", entry.name, style.program.program.model,
                  counted(collectives, "collective"), grouped(bytes), grouped(cost));
  if (entry.plan && entry.plan->hardware.empty() && entry.plan->bound > 0)
    head += fmt::format(" (at least {})", grouped(entry.plan->bound));
  if (seconds) head += fmt::format(", predicted step time {}", seconds_text(*seconds));
  const std::string text = wrapped("", head, " ", style.width);
  const std::vector<CollectiveGroup> listed = largest_groups(most, style);
  if (listed.empty()) return text;
  std::string title = "the collectives that send most, by the numbers of their steps";
  if (std::any_of(listed.begin(), listed.end(), is_repeated))
    title += " (of several: the first step, and the bytes of all)";
  return text + "\n" + wrapped("", title, " ", style.width) + groups_text(listed, style);
}

namespace {

std::string share_text(double share) {
  return share < 0.1 ? fmt::format("{:.1f}", 100 * share) : fmt::format("{:.0f}", 100 * share);
}

}  // namespace

Diagnostic warning_of(const CostlyGather& gather, const ExplanationStyle& style) {
  const ReshardStep& reshard = gather.reshard;
  Diagnostic warning;
  warning.severity = Severity::kWarning;
  std::string reader = "the compiler";
  if (!reshard.readers.empty()) {
    warning.location = style.program.names.place(reshard.readers.front().name);
    OperationPlace first = reshard.readers.front();
    first.name = gather.reader;
    reader = short_text(first);
  }
  const std::string count = gather.count == 1 ? "" : fmt::format(" ({} gathers)", grouped(gather.count));
  warning.message = fmt::format(
      "in {}, '{}' is gathered whole for {}{}: {}; a device sends {} for that, {} % of all that it sends",
      style.program.entry.name, gather.tensor, reader, count,
      change_of_form(reshard, style.program.layout.mesh), bytes_beside(gather.bytes, style.device_memory),
      share_text(gather.share));
  if (gather.removal)
    warning.hint = change_text(*gather.removal, style.program.layout) + " to avoid it";
  else if (!gather.is_sought)
    warning.hint = fmt::format("mtfc explain, asked about step {} of {}, tries changes that may avoid it",
                               reshard.step.number(), style.program.entry.name);
  return warning;
}

Diagnostic note_of(const RepeatedGathers& repeated, const ExplanationStyle& style) {
  return {{},
          fmt::format("in {}, each of the {} microbatches gathers the variables that the layout shards; a "
                      "device sends {} for that, {} % of all that it sends",
                      style.program.entry.name, grouped(repeated.microbatches),
                      bytes_beside(repeated.bytes, style.device_memory), share_text(repeated.share)),
          "fewer microbatches send less, and zero:2 gathers the variables once a step and keeps them whole",
          Severity::kNote};
}

}  // namespace mtfc
