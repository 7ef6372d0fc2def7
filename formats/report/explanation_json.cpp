#include <algorithm>
#include <ranges>

#include "core/explain/halos.h"
#include "core/program/reshard_groups.h"
#include "formats/json/ordered_json.h"
#include "formats/report/explanation_writer.h"

namespace mtfc {
namespace {

Json halos_json(const TensorForm& from, const TensorForm& to, const Mesh& mesh) {
  const auto shard = [](const Halo& halo) -> Json {
    return {{"holds", {halo.holds.begin, halo.holds.end}},
            {"reads", {halo.reads.begin, halo.reads.end}},
            {"left", halo.left()},
            {"right", halo.right()},
            {"from_others", halo.neighbours}};
  };
  return json_list(halos_between(from, to, mesh), [&](const DimHalos& halos) -> Json {
    return {{"dim", to.dims()[halos.dim].name}, {"shards", json_list(halos.shards, shard)}};
  });
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

Json form_json(const TensorForm& form, const Mesh& mesh) {
  return {{"split", json_of(form.dims(), form.sharding(), mesh)},
          {"partial", partial_json(form.sharding(), mesh)}};
}

Json reshard_json(const ReshardStep& reshard, const ExplanationStyle& style) {
  const Mesh& mesh = style.program.layout.mesh;
  Json json = {{"step", reshard.step.index()},
               {"tensor", reshard.tensor},
               {"dims", json_of(reshard.from.dims())},
               {"collective", to_string(reshard.collective.kind)},
               {"axes", json_of(reshard.collective.axes, mesh)},
               {"bytes_sent_per_device", reshard.bytes},
               {"runs", reshard.runs}};
  if (reshard.others > 0) json["tensors_with_it"] = reshard.others;
  if (reshard.moves.empty()) {
    json["from"] = form_json(reshard.from, mesh);
    json["to"] = form_json(reshard.to, mesh);
    if (reshard.to.dims() != reshard.from.dims()) json["dims_after"] = json_of(reshard.to.dims());
    if (!reshard.to.sharding().windows.empty()) json["halos"] = halos_json(reshard.from, reshard.to, mesh);
  } else {
    json["moves_pieces_for"] = reshard.moves;
  }
  json["maker"] = operation_json(reshard.maker, style.program.names);
  json["readers"] = json_list(reshard.readers, [&](const OperationPlace& reader) {
    return operation_json(reader, style.program.names);
  });
  return json;
}

Json reshards_json(const std::vector<ReshardStep>& reshards, const ExplanationStyle& style) {
  return json_list(reshards, [&](const ReshardStep& reshard) { return reshard_json(reshard, style); });
}

Json figures_json(const LayoutFigures& figures) {
  Json json = Json::object();
  if (figures.seconds) json["step_s"] = *figures.seconds;
  json.update({{"cost", figures.cost},
               {"bytes_sent_per_device", figures.bytes},
               {"collectives", figures.collectives},
               {"memory_bytes_per_device", figures.memory},
               {"flops_per_device", figures.flops}});
  return json;
}

Json head_json(const ExplanationStyle& style) {
  return {{"mtfc_explanation", 1},
          {"model", style.program.program.model},
          {"entry", style.program.entry.name},
          {"mesh", json_of(style.program.layout.mesh)}};
}

Json change_json(const LayoutChange& change, const Layout& layout) {
  Json json = {{"text", change_text(change, layout)}};
  if (change.annotation) {
    Layout alone;
    alone.mesh = layout.mesh;
    alone.annotations = {*change.annotation};
    json["shardings"] = annotations_json(alone);
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

Json group_json(const CollectiveGroup& group, const Mesh& mesh) {
  const ReshardStep shown = folded(group);
  Json steps = json_list(group.members, [](const ReshardStep* member) { return member->step.index(); });
  return {{"tensors", shown.tensor},
          {"collective", to_string(shown.collective.kind)},
          {"axes", json_of(shown.collective.axes, mesh)},
          {"steps", std::move(steps)},
          {"total_bytes_sent_per_device", group.bytes}};
}

}  // namespace

std::string explanation_json(const TensorExplanation& explanation, const ExplanationStyle& style) {
  const Mesh& mesh = style.program.layout.mesh;
  const Dims& dims = explanation.type.dims;
  const TensorForm own{dims, explanation.sharding};
  Json json = head_json(style);
  json.update({{"tensor", explanation.tensor},
               {"dtype", to_string(explanation.type.dtype)},
               {"dims", json_of(dims)},
               {"place", place_json(explanation.place)},
               {"sharding", form_json(own, mesh)},
               {"fixed", reason_json(explanation.fixed)},
               {"figures", figures_json(explanation.figures)}});
  const auto hop_json = [](const OriginHop& hop) -> Json {
    return {{"tensor", hop.tensor}, {"operation", hop.operation}};
  };
  json["splits"] = json_list(explanation.splits, [&](const AxisOrigin& split) -> Json {
    return {{"dim", split.dim},
            {"axes", json_of(split.axes, mesh)},
            {"origin", reason_json(split.fixed)},
            {"path", json_list(split.path, hop_json)}};
  });
  json["held"] = Json::array();
  for (const TensorForm& held : explanation.held) {
    json["held"].push_back(form_json(held, mesh));
    if (!held.sharding().windows.empty()) json["held"].back()["halos"] = halos_json(own, held, mesh);
  }
  json["alternatives"] = json_list(explanation.alternatives, [&](const Alternative& alternative) -> Json {
    return {{"sharding", json_of(dims, alternative.sharding, mesh)},
            {"figures", figures_json(alternative.figures)}};
  });
  json["untried"] = explanation.untried;
  json["reshards"] = reshards_json(explanation.reshards, style);
  return dump_lines(json, 2);
}

std::string explanation_json(const ReshardExplanation& explanation, const ExplanationStyle& style) {
  Json json = head_json(style);
  json["reshard"] = reshard_json(explanation.reshard, style);
  if (!explanation.others.empty()) json["with"] = reshards_json(explanation.others, style);
  json["figures"] = figures_json(explanation.figures);
  json["tried"] = explanation.tried;
  json["removal"] = Json();
  if (explanation.removal)
    json["removal"] = {{"change", change_json(explanation.removal->change, style.program.layout)},
                       {"figures", figures_json(explanation.removal->figures)},
                       {"instead", reshards_json(explanation.instead, style)}};
  if (explanation.cheaper)
    json["cheaper"] = {{"change", change_json(explanation.cheaper->change, style.program.layout)},
                       {"figures", figures_json(explanation.cheaper->figures)}};
  return dump_lines(json, 2);
}

std::string list_json(size_t most, const ExplanationStyle& style) {
  Json json = head_json(style);
  json["figures"] = figures_json(style.program.figures);
  json["reshards"] = reshards_json(largest(style.program.reshards, most), style);
  const Mesh& mesh = style.program.layout.mesh;
  const std::vector<CollectiveGroup> groups = collective_groups(style.program.reshards, mesh);
  json["groups"] = json_list(groups | std::views::take(most),
                             [&](const CollectiveGroup& group) { return group_json(group, mesh); });
  return dump_lines(json, 2);
}

}  // namespace mtfc
