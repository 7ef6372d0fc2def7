#include "formats/report/explanation_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/diagnostics/printable.h"
#include "formats/json/ordered_json.h"
#include "formats/text/quantity.h"
#include "formats/text/wrapped_text.h"

namespace mtfc {
namespace {

constexpr size_t kMostAlternatives = 5;
constexpr size_t kMostReaders = 3;
constexpr size_t kMostInstead = 3;

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

std::string percent_text(int64_t now, int64_t before) {
  if (now == before) return "same";
  if (before == 0) return "";
  const double percent = 100.0 * static_cast<double>(now - before) / static_cast<double>(before);
  return std::abs(percent) >= 10 ? fmt::format("{:+.0f} %", percent) : fmt::format("{:+.2g} %", percent);
}

// The figures of the entry point as it is and with a change, one below the other.
std::string compared_text(const LayoutFigures& before, const LayoutFigures& now) {
  const auto row = [](const char* what, int64_t a, int64_t b, auto text) {
    return std::vector<std::string>{what, text(a), text(b), percent_text(b, a)};
  };
  const auto flops = [](int64_t count) { return count_text(count, "FLOP"); };
  std::string text = columns({{"", "now", "then", ""},
                              row("cost", before.cost, now.cost, grouped),
                              row("bytes sent per device", before.bytes, now.bytes, grouped),
                              row("collectives", before.collectives, now.collectives, grouped),
                              row("arithmetic per device", before.flops, now.flops, flops),
                              row("memory per device", before.memory, now.memory, bytes_text)},
                             1);
  return text;
}

std::vector<std::string> figures_row(const std::string& what, const LayoutFigures& figures,
                                     int64_t cost_now) {
  return {what,
          grouped(figures.cost),
          percent_text(figures.cost, cost_now),
          grouped(figures.bytes),
          grouped(figures.collectives),
          bytes_text(figures.memory)};
}

std::string origin_text(const FixedBy& origin) {
  switch (origin.kind) {
    case FixedBy::Kind::kAnnotation:
      return fmt::format("the annotation \"{}\"{}", origin.text, in_parentheses(place_text(origin.location)));
    case FixedBy::Kind::kRule:
      return origin.text.empty()
                 ? "the rules"
                 : fmt::format("the rule {}{}", origin.text, in_parentheses(place_text(origin.location)));
    case FixedBy::Kind::kOtherEntry:
      return "the plan of another entry point, which decides how variables are split";
    case FixedBy::Kind::kChoice:
      return "the plan of least cost";
    case FixedBy::Kind::kNothing:
      break;
  }
  return "";
}

std::string reason_text(const SplitReason& reason, const Mesh& mesh) {
  std::string text = fmt::format("'{}' is split over {}", reason.dim, mesh.names(reason.axes));
  const std::string origin = origin_text(reason.origin);
  if (origin.empty()) return text;
  text += " by " + origin;
  if (reason.way.size() < 2) return text;
  text += fmt::format(" of '{}'", reason.way.front().tensor);
  for (size_t i = 1; i < reason.way.size(); ++i)
    text += fmt::format(" -> {} '{}'", reason.way[i].operation, reason.way[i].tensor);
  return text;
}

std::string why_whole(const TensorExplanation& explanation) {
  switch (explanation.fixed.kind) {
    case FixedBy::Kind::kAnnotation:
    case FixedBy::Kind::kOtherEntry:
      return "it is whole on every device by " + origin_text(explanation.fixed);
    case FixedBy::Kind::kChoice:
      return explanation.alternatives.empty() ? "it is whole on every device: no axis reaches its dimensions"
                                              : "it is whole on every device, which costs least";
    default:
      return "it is whole on every device: no rule names its dimensions, and no annotation names it";
  }
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
  return fmt::format("{} -> {}", form_text(reshard.type, reshard.from, mesh),
                     form_text(reshard.type, reshard.to, mesh));
}

std::string bytes_of(const ReshardStep& reshard) {
  return reshard.runs == 1 ? fmt::format("{} bytes", grouped(reshard.bytes))
                           : fmt::format("{} times {} bytes", grouped(reshard.runs), grouped(reshard.bytes));
}

std::string reshard_line(const ReshardStep& reshard, const Mesh& mesh) {
  return fmt::format("{} of '{}' over {}: {}, {}", to_string(reshard.collective.kind), reshard.tensor,
                     mesh.names(reshard.collective.axes), change_of_form(reshard, mesh), bytes_of(reshard));
}

Json place_json(const Location& place) {
  return {{"file", place.file}, {"line", place.line}, {"pointer", place.pointer}};
}

Json operation_json(const OperationPlace& operation, const ModelNames& names) {
  Json json = {{"operation", operation.kind}, {"tensor", operation.name}};
  if (!operation.source.empty()) json["source"] = operation.source;
  if (const Location place = names.place(operation.name); place.line > 0) json["place"] = place_json(place);
  return json;
}

Json form_json(const Dims& dims, const Sharding& sharding, const Mesh& mesh) {
  return {{"split", json_of(dims, sharding, mesh)}, {"partial", partial_json(sharding, mesh)}};
}

Json reshard_json(const ReshardStep& reshard, const ExplanationStyle& style) {
  const Mesh& mesh = style.program.mesh();
  Json json = {{"step", reshard.step.index()},
               {"tensor", reshard.tensor},
               {"dims", json_of(reshard.type.dims)},
               {"collective", to_string(reshard.collective.kind)},
               {"axes", json_of(reshard.collective.axes, mesh)},
               {"bytes_sent_per_device", reshard.bytes},
               {"runs", reshard.runs}};
  if (reshard.moves.empty()) {
    json["from"] = form_json(reshard.type.dims, reshard.from, mesh);
    json["to"] = form_json(reshard.type.dims, reshard.to, mesh);
  } else {
    json["moves_pieces_for"] = reshard.moves;
  }
  json["maker"] = operation_json(reshard.maker, style.names);
  json["readers"] = Json::array();
  for (const OperationPlace& reader : reshard.readers)
    json["readers"].push_back(operation_json(reader, style.names));
  return json;
}

Json figures_json(const LayoutFigures& figures) {
  return {{"cost", figures.cost},
          {"bytes_sent_per_device", figures.bytes},
          {"collectives", figures.collectives},
          {"memory_bytes_per_device", figures.memory},
          {"flops_per_device", figures.flops}};
}

Json head_json(const ExplanationStyle& style) {
  return {
      {"model", style.program.model}, {"entry", style.entry.name}, {"mesh", json_of(style.program.mesh())}};
}

Json change_json(const LayoutChange& change, const Mesh& mesh) {
  Json json = {{"text", change_text(change, mesh)}};
  if (change.annotation) {
    Layout layout;
    layout.mesh = mesh;
    layout.annotations = {*change.annotation};
    json["shardings"] = annotations_json(layout);
  }
  if (!change.removed.empty()) json["removed"] = change.removed;
  if (change.propagates) json["propagate"] = true;
  return json;
}

Json reason_json(const FixedBy& fixed) {
  Json json = {{"by", to_string(fixed.kind)}};
  if (!fixed.text.empty()) json["text"] = fixed.text;
  if (!fixed.location.file.empty() || fixed.location.line > 0) json["place"] = place_json(fixed.location);
  return json;
}

}  // namespace

std::string change_text(const LayoutChange& change, const Mesh& mesh) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", and ") + part; };
  if (!change.removed.empty()) add(fmt::format("remove {} from \"shardings\"", Json(change.removed).dump()));
  if (change.annotation)
    add(fmt::format("add {}: {} to \"shardings\"", Json(change.annotation->pattern).dump(),
                    json_text(change.annotation->splits, mesh)));
  if (change.propagates) add("set \"propagate\": true");
  return text;
}

std::string operation_text(const OperationPlace& operation, const ModelNames& names) {
  if (operation.source.empty() && operation.tensors.empty())
    return fmt::format("the {} '{}'", operation.kind, operation.name);
  const Location place = names.place(operation.name);
  const std::string where = place.line > 0 ? place_text(place) : operation.source;
  return fmt::format("{} (gives '{}'{})", operation.kind, operation.name, where.empty() ? "" : ", " + where);
}

std::string explanation_text(const TensorExplanation& explanation, const ExplanationStyle& style) {
  const Mesh& mesh = style.program.mesh();
  const Dims& dims = explanation.type.dims;
  std::string text = lines("",
                           fmt::format("{}: {} {}{}", explanation.tensor, to_string(explanation.type.dtype),
                                       form_text(explanation.type, explanation.sharding, mesh),
                                       in_parentheses(place_text(explanation.place))),
                           style);
  text += "\nwhy\n";
  if (explanation.splits.empty()) text += lines("  ", why_whole(explanation), style);
  for (const SplitReason& reason : explanation.splits) text += lines("  ", reason_text(reason, mesh), style);
  for (const Sharding& held : explanation.held)
    text += lines("  ", fmt::format("also held as {}", form_text(explanation.type, held, mesh)), style);
  text += "\nother shardings of it, as annotations\n";
  std::vector<std::vector<std::string>> rows = {{"", "cost", "", "bytes sent", "collectives", "memory"}};
  rows.push_back(figures_row("as it is", explanation.figures, explanation.figures.cost));
  rows.back()[2] = "";
  for (size_t i = 0; i < std::min(explanation.alternatives.size(), kMostAlternatives); ++i) {
    const auto& [sharding, figures] = explanation.alternatives[i];
    rows.push_back(figures_row(printable(json_text(splits_of(dims, sharding), mesh)), figures,
                               explanation.figures.cost));
  }
  if (rows.size() > 2) text += columns(rows, 1);
  if (explanation.alternatives.size() > kMostAlternatives)
    text += fmt::format("  {} more cost more\n", explanation.alternatives.size() - kMostAlternatives);
  if (explanation.untried > 0)
    text += fmt::format("  {} more were not tried\n", grouped(static_cast<int64_t>(explanation.untried)));
  if (explanation.alternatives.empty()) text += "  none is possible\n";
  text += "\ncollectives that move it\n";
  if (explanation.reshards.empty()) text += "  none\n";
  return text + reshards_text(explanation.reshards, style);
}

std::string explanation_text(const ReshardExplanation& explanation, const ExplanationStyle& style) {
  const Mesh& mesh = style.program.mesh();
  const ReshardStep& reshard = explanation.reshard;
  std::string text =
      lines("", fmt::format("step {}: {}", reshard.step.index(), reshard_line(reshard, mesh)), style);
  text += "\nwhy\n";
  text += lines("  given by  ", operation_text(reshard.maker, style.names), style);
  text += lines("  needed by ", operations_text(reshard.readers, style.names), style);
  text += "\nto remove it\n";
  if (!explanation.removal) {
    text +=
        lines("  ", fmt::format("no change of one annotation does; {} were tried", explanation.tried), style);
    return text;
  }
  text += lines("  ", change_text(explanation.removal->change, mesh), style);
  text += "\n" + compared_text(explanation.figures, explanation.removal->figures);
  if (!explanation.instead.empty()) text += "\n";
  for (size_t i = 0; i < std::min(explanation.instead.size(), kMostInstead); ++i)
    text += lines("  instead: ", reshard_line(explanation.instead[i], mesh), style);
  if (explanation.instead.size() > kMostInstead)
    text += fmt::format("  and {} more\n", explanation.instead.size() - kMostInstead);
  if (explanation.cheaper) {
    text += "\ncheaper, but with more arithmetic or memory on each device\n";
    text += lines("  ", change_text(explanation.cheaper->change, mesh), style);
    text += "\n" + compared_text(explanation.figures, explanation.cheaper->figures);
  }
  return text;
}

std::string reshards_text(const std::vector<ReshardStep>& reshards, const ExplanationStyle& style) {
  size_t digits = 1;
  for (const ReshardStep& reshard : reshards)
    digits = std::max(digits, std::to_string(reshard.step.index()).size());
  std::string text;
  for (const ReshardStep& reshard : reshards) {
    std::string line = reshard_line(reshard, style.program.mesh());
    if (!reshard.readers.empty()) {
      const OperationPlace& reader = reshard.readers.front();
      line += fmt::format(", for {}{} '{}'", reader.tensors.empty() ? "the " : "", reader.kind, reader.name);
    }
    if (reshard.readers.size() > 1) line += fmt::format(" and {} more", reshard.readers.size() - 1);
    text += wrapped(fmt::format("  {:>{}}  ", reshard.step.index(), digits), printable(line), " ",
                    style.line_width);
  }
  return text;
}

Diagnostic warning_of(const CostlyGather& gather, const ExplanationStyle& style) {
  const ReshardStep& reshard = gather.reshard;
  const Mesh& mesh = style.program.mesh();
  Diagnostic warning;
  warning.severity = Severity::kWarning;
  std::string reader = "the compiler";
  if (!reshard.readers.empty()) {
    const OperationPlace& operation = reshard.readers.front();
    warning.location = style.names.place(operation.name);
    reader = operation.tensors.empty() ? fmt::format("the {} '{}'", operation.kind, operation.name)
                                       : fmt::format("{} '{}'", operation.kind, operation.name);
  }
  const std::string others =
      gather.others == 0 ? "" : fmt::format(", and {} like it", grouped(gather.others));
  warning.message =
      fmt::format("in {}, '{}' is gathered whole for {}{}: {}, for which a device sends {}, {} % of all",
                  style.entry.name, reshard.tensor, reader, others, change_of_form(reshard, mesh),
                  bytes_text(reshard.all_bytes()),
                  gather.share < 0.1 ? fmt::format("{:.1f}", 100 * gather.share)
                                     : fmt::format("{:.0f}", 100 * gather.share));
  if (gather.removal) warning.hint = change_text(gather.removal->change, mesh) + " to avoid it";
  return warning;
}

std::string explanation_json(const TensorExplanation& explanation, const ExplanationStyle& style) {
  const Mesh& mesh = style.program.mesh();
  const Dims& dims = explanation.type.dims;
  Json json = head_json(style);
  json.update({{"tensor", explanation.tensor},
               {"dtype", to_string(explanation.type.dtype)},
               {"dims", json_of(dims)},
               {"place", place_json(explanation.place)},
               {"sharding", form_json(dims, explanation.sharding, mesh)},
               {"fixed", reason_json(explanation.fixed)},
               {"figures", figures_json(explanation.figures)}});
  json["splits"] = Json::array();
  for (const SplitReason& reason : explanation.splits) {
    Json way = Json::array();
    for (const OriginHop& hop : reason.way)
      way.push_back({{"tensor", hop.tensor}, {"operation", hop.operation}});
    json["splits"].push_back({{"dim", reason.dim},
                              {"axes", json_of(reason.axes, mesh)},
                              {"origin", reason_json(reason.origin)},
                              {"way", way}});
  }
  json["held"] = Json::array();
  for (const Sharding& held : explanation.held) json["held"].push_back(form_json(dims, held, mesh));
  json["alternatives"] = Json::array();
  for (const Alternative& alternative : explanation.alternatives)
    json["alternatives"].push_back({{"sharding", json_of(dims, alternative.sharding, mesh)},
                                    {"figures", figures_json(alternative.figures)}});
  json["untried"] = explanation.untried;
  json["reshards"] = Json::array();
  for (const ReshardStep& reshard : explanation.reshards)
    json["reshards"].push_back(reshard_json(reshard, style));
  return dump_lines(json, 2);
}

std::string explanation_json(const ReshardExplanation& explanation, const ExplanationStyle& style) {
  Json json = head_json(style);
  json["reshard"] = reshard_json(explanation.reshard, style);
  json["figures"] = figures_json(explanation.figures);
  json["tried"] = explanation.tried;
  json["removal"] = Json();
  if (explanation.removal) {
    json["removal"] = {{"change", change_json(explanation.removal->change, style.program.mesh())},
                       {"figures", figures_json(explanation.removal->figures)}};
    json["removal"]["instead"] = Json::array();
    for (const ReshardStep& reshard : explanation.instead)
      json["removal"]["instead"].push_back(reshard_json(reshard, style));
  }
  if (explanation.cheaper)
    json["cheaper"] = {{"change", change_json(explanation.cheaper->change, style.program.mesh())},
                       {"figures", figures_json(explanation.cheaper->figures)}};
  return dump_lines(json, 2);
}

std::string reshards_json(const std::vector<ReshardStep>& reshards, const ExplanationStyle& style) {
  Json json = head_json(style);
  json["reshards"] = Json::array();
  for (const ReshardStep& reshard : reshards) json["reshards"].push_back(reshard_json(reshard, style));
  return dump_lines(json, 2);
}

}  // namespace mtfc
