#include <algorithm>

#include "core/explain/halos.h"
#include "core/program/reshard_groups.h"
#include "formats/json/ordered_json.h"
#include "formats/report/explanation_writer.h"

namespace mtfc {
namespace {

Json halos_json(const TensorForm& from, const TensorForm& to, const Mesh& mesh) {
  Json json = Json::array();
  for (const DimHalos& halos : halos_between(from, to, mesh)) {
    Json shards = Json::array();
    for (const Halo& halo : halos.shards)
      shards.push_back({{"holds", {halo.holds.begin, halo.holds.end}},
                        {"reads", {halo.reads.begin, halo.reads.end}},
                        {"left", halo.left()},
                        {"right", halo.right()},
                        {"from_others", halo.neighbours}});
    json.push_back({{"dim", to.dims()[halos.dim].name}, {"shards", std::move(shards)}});
  }
  return json;
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
  json["readers"] = Json::array();
  for (const OperationPlace& reader : reshard.readers)
    json["readers"].push_back(operation_json(reader, style.program.names));
  return json;
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
  Json steps = Json::array();
  for (const ReshardStep* member : group.members) steps.push_back(member->step.index());
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
  json["splits"] = Json::array();
  for (const AxisOrigin& split : explanation.splits) {
    Json path = Json::array();
    for (const OriginHop& hop : split.path)
      path.push_back({{"tensor", hop.tensor}, {"operation", hop.operation}});
    json["splits"].push_back({{"dim", split.dim},
                              {"axes", json_of(split.axes, mesh)},
                              {"origin", reason_json(split.fixed)},
                              {"path", path}});
  }
  json["held"] = Json::array();
  for (const TensorForm& held : explanation.held) {
    json["held"].push_back(form_json(held, mesh));
    if (!held.sharding().windows.empty()) json["held"].back()["halos"] = halos_json(own, held, mesh);
  }
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
  if (!explanation.others.empty()) json["with"] = Json::array();
  for (const ReshardStep& other : explanation.others) json["with"].push_back(reshard_json(other, style));
  json["figures"] = figures_json(explanation.figures);
  json["tried"] = explanation.tried;
  json["removal"] = Json();
  if (explanation.removal) {
    json["removal"] = {{"change", change_json(explanation.removal->change, style.program.layout)},
                       {"figures", figures_json(explanation.removal->figures)}};
    json["removal"]["instead"] = Json::array();
    for (const ReshardStep& reshard : explanation.instead)
      json["removal"]["instead"].push_back(reshard_json(reshard, style));
  }
  if (explanation.cheaper)
    json["cheaper"] = {{"change", change_json(explanation.cheaper->change, style.program.layout)},
                       {"figures", figures_json(explanation.cheaper->figures)}};
  return dump_lines(json, 2);
}

std::string list_json(size_t most, const ExplanationStyle& style) {
  Json json = head_json(style);
  json["figures"] = figures_json(style.program.figures);
  json["reshards"] = Json::array();
  for (const ReshardStep& reshard : largest(style.program.reshards, most))
    json["reshards"].push_back(reshard_json(reshard, style));
  json["groups"] = Json::array();
  const Mesh& mesh = style.program.layout.mesh;
  const std::vector<CollectiveGroup> groups = collective_groups(style.program.reshards, mesh);
  for (size_t i = 0; i < std::min(groups.size(), most); ++i)
    json["groups"].push_back(group_json(groups[i], mesh));
  return dump_lines(json, 2);
}

}  // namespace mtfc
