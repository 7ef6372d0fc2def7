#include <algorithm>
#include <ranges>

#include "core/explain/halos.h"
#include "core/program/reshard_groups.h"
#include "formats/json/output_object.h"
#include "formats/report/explanation_writer.h"

namespace mtfc {
namespace {

using namespace schema_parts;

using Style = const ExplanationStyle&;

const Mesh& mesh_of(Style style) {
  return style.program.layout.mesh;
}

const OutputObject<Halo> kHalo = {
    {"holds", reference("interval"), [](const Halo& halo) { return json_of(halo.holds); }},
    {"reads", reference("interval"), [](const Halo& halo) { return json_of(halo.reads); }},
    {"left", whole(), &Halo::left},
    {"right", whole(), &Halo::right},
    {"from_others", whole(), &Halo::neighbours}};

const OutputObject<DimHalos, Dims> kHalos = {
    {"dim", text(), [](const DimHalos& halos, const Dims& dims) { return dims[halos.dim].name; }},
    {"shards", list_of(kHalo.schema()),
     [](const DimHalos& halos) { return json_list(halos.shards, kHalo); }}};

// Nothing where no windows read beyond shards.
std::optional<Json> halos_json(const TensorForm& from, const TensorForm& to, const Mesh& mesh) {
  if (to.sharding().windows.empty()) return {};
  return json_list(halos_between(from, to, mesh), kHalos, to.dims());
}

const OutputObject<Location> kPlace = {{"file", text(), &Location::file},
                                       {"line", whole(), &Location::line},
                                       {"pointer", text("JSON pointer"), &Location::pointer}};

const OutputObject<OperationPlace, ExplanationStyle> kOperation = {
    {"operation", text(), &OperationPlace::kind},
    {"tensor", text(), &OperationPlace::name},
    {"source", text(), [](const OperationPlace& operation) { return unless_empty(operation.source); }},
    {"place", reference("place"), [](const OperationPlace& operation, Style style) {
       const Location place = style.program.names.place(operation.name);
       return when(place.line > 0, kPlace.json(place));
     }}};

const OutputObject<TensorForm, Mesh> kForm = {
    {"split", reference("splits"),
     [](const TensorForm& form, const Mesh& mesh) { return json_of(form.dims(), form.sharding(), mesh); }},
    {"partial", reference("partial"),
     [](const TensorForm& form, const Mesh& mesh) { return partial_json(form.sharding(), mesh); }}};

const OutputObject<LayoutFigures> kLayoutFigures = {
    {"step_s", real("predicted, with --hardware"), &LayoutFigures::seconds},
    {"cost", whole("by which plans are chosen"), &LayoutFigures::cost},
    {"bytes_sent_per_device", whole(), &LayoutFigures::bytes},
    {"collectives", whole(), &LayoutFigures::collectives},
    {"memory_bytes_per_device", whole(), &LayoutFigures::memory},
    {"flops_per_device", whole(), &LayoutFigures::flops}};

// The forms before and after a collective, of a tensor whose pieces no operation moves.
const OutputObject<ReshardStep, ExplanationStyle> kMovedForms = {
    {"from", reference("form"),
     [](const ReshardStep& reshard, Style style) { return kForm.json(reshard.from, mesh_of(style)); }},
    {"to", reference("form"),
     [](const ReshardStep& reshard, Style style) { return kForm.json(reshard.to, mesh_of(style)); }},
    {"dims_after", reference("dims"),
     [](const ReshardStep& reshard) {
       return when(reshard.to.dims() != reshard.from.dims(), json_of(reshard.to.dims()));
     }},
    {"halos", reference("halos"), [](const ReshardStep& reshard, Style style) {
       return halos_json(reshard.from, reshard.to, mesh_of(style));
     }}};

const OutputObject<ReshardStep, ExplanationStyle> kReshard = {
    {"step", whole("the number of the step"),
     [](const ReshardStep& reshard) { return reshard.step.index(); }},
    {"tensor", text(), &ReshardStep::tensor},
    {"dims", reference("dims"), [](const ReshardStep& reshard) { return json_of(reshard.from.dims()); }},
    {"collective", name_of<CollectiveKind>(),
     [](const ReshardStep& reshard) { return to_string(reshard.collective.kind); }},
    {"axes", reference("axes"),
     [](const ReshardStep& reshard, Style style) {
       return json_of(reshard.collective.axes, mesh_of(style));
     }},
    {"bytes_sent_per_device", whole("in one run"), &ReshardStep::bytes},
    {"runs", whole(), &ReshardStep::runs},
    {"tensors_with_it", whole("other tensors that the step moves together with it"),
     [](const ReshardStep& reshard) { return unless_empty(reshard.others); }},
    {kMovedForms, [](const ReshardStep& reshard) { return reshard.moves.empty() ? &reshard : nullptr; }},
    {"moves_pieces_for", text("the operation whose pieces are exchanged"),
     [](const ReshardStep& reshard) { return unless_empty(reshard.moves); }},
    {"maker", reference("operation"),
     [](const ReshardStep& reshard, Style style) { return kOperation.json(reshard.maker, style); }},
    {"readers", list_of(reference("operation")),
     [](const ReshardStep& reshard, Style style) { return json_list(reshard.readers, kOperation, style); }}};

const OutputObject<ExplanationStyle> kExplanationHead = {
    {"mtfc_explanation", version(), kFirstVersion},
    {"model", text(), [](Style style) { return style.program.program.model; }},
    {"entry", text("the entry point"), [](Style style) { return style.program.entry.name; }},
    {"mesh", reference("mesh"), [](Style style) { return json_of(mesh_of(style)); }}};

const OutputObject<LayoutChange, ExplanationStyle> kLayoutChange = {
    {"text", text("for people"),
     [](const LayoutChange& change, Style style) { return change_text(change, style.program.layout); }},
    {"shardings", map_schema(reference("splits"), "annotations to add"),
     [](const LayoutChange& change, Style style) -> std::optional<Json> {
       if (!change.annotation) return {};
       Layout alone;
       alone.mesh = mesh_of(style);
       alone.annotations = {*change.annotation};
       return annotations_json(alone);
     }},
    {"removed", text("the pattern of an annotation to remove"),
     [](const LayoutChange& change) { return unless_empty(change.removed); }},
    {"propagate", flag(), [](const LayoutChange& change) { return unless_empty(change.propagates); }}};

const OutputObject<FixedBy> kFixedBy = {
    {"by", text(), [](const FixedBy& fixed) { return to_string(fixed.kind); }},
    {"text", text(), [](const FixedBy& fixed) { return unless_empty(fixed.text); }},
    {"place", reference("place"), [](const FixedBy& fixed) {
       return when(!fixed.location.file.empty() || fixed.location.line > 0, kPlace.json(fixed.location));
     }}};

// -- of a tensor --

const OutputObject<OriginHop> kOriginHop = {{"tensor", text(), &OriginHop::tensor},
                                            {"operation", text(), &OriginHop::operation}};

const OutputObject<AxisOrigin, ExplanationStyle> kAxisOrigin = {
    {"dim", text(), &AxisOrigin::dim},
    {"axes", reference("axes"),
     [](const AxisOrigin& split, Style style) { return json_of(split.axes, mesh_of(style)); }},
    {"origin", reference("reason"), [](const AxisOrigin& split) { return kFixedBy.json(split.fixed); }},
    {"path", list_of(kOriginHop.schema()),
     [](const AxisOrigin& split) { return json_list(split.path, kOriginHop); }}};

using ExplainedTensor = const TensorExplanation&;

TensorForm own_form(ExplainedTensor tensor) {
  return {tensor.type.dims, tensor.sharding};
}

struct HeldForm {
  TensorForm own, held;
};
const OutputObject<HeldForm, Mesh> kHeldForm = {
    {kForm, &HeldForm::held}, {"halos", reference("halos"), [](const HeldForm& form, const Mesh& mesh) {
                                 return halos_json(form.own, form.held, mesh);
                               }}};

const OutputObject<Alternative, Dims, Mesh> kAlternative = {
    {"sharding", reference("splits"),
     [](const Alternative& alternative, const Dims& dims, const Mesh& mesh) {
       return json_of(dims, alternative.sharding, mesh);
     }},
    {"figures", reference("figures"),
     [](const Alternative& alternative) { return kLayoutFigures.json(alternative.figures); }}};

const OutputObject<TensorExplanation, ExplanationStyle> kExplainedTensor = {
    {kExplanationHead, [](ExplainedTensor, Style style) -> Style { return style; }},
    {"tensor", text(), &TensorExplanation::tensor},
    {"dtype", text(), [](ExplainedTensor tensor) { return to_string(tensor.type.dtype); }},
    {"dims", reference("dims"), [](ExplainedTensor tensor) { return json_of(tensor.type.dims); }},
    {"place", reference("place"), [](ExplainedTensor tensor) { return kPlace.json(tensor.place); }},
    {"sharding", reference("form"),
     [](ExplainedTensor tensor, Style style) { return kForm.json(own_form(tensor), mesh_of(style)); }},
    {"fixed", reference("reason"), [](ExplainedTensor tensor) { return kFixedBy.json(tensor.fixed); }},
    {"figures", reference("figures"),
     [](ExplainedTensor tensor) { return kLayoutFigures.json(tensor.figures); }},
    {"splits", list_of(kAxisOrigin.schema()),
     [](ExplainedTensor tensor, Style style) { return json_list(tensor.splits, kAxisOrigin, style); }},
    {"held", list_of(kHeldForm.schema(), "other shardings in which devices hold the tensor"),
     [](ExplainedTensor tensor, Style style) {
       return json_list(tensor.held, [&](const TensorForm& held) {
         return kHeldForm.json({own_form(tensor), held}, mesh_of(style));
       });
     }},
    {"alternatives", list_of(kAlternative.schema()),
     [](ExplainedTensor tensor, Style style) {
       return json_list(tensor.alternatives, kAlternative, tensor.type.dims, mesh_of(style));
     }},
    {"untried", whole("candidates that were too many to compile"), &TensorExplanation::untried},
    {"reshards", list_of(reference("reshard")),
     [](ExplainedTensor tensor, Style style) { return json_list(tensor.reshards, kReshard, style); }}};

// -- of a step --

using Explained = const ReshardExplanation&;

const OutputObject<Trial, ExplanationStyle> kTrial = {
    {"change", reference("change"),
     [](const Trial& trial, Style style) { return kLayoutChange.json(trial.change, style); }},
    {"figures", reference("figures"), [](const Trial& trial) { return kLayoutFigures.json(trial.figures); }}};

// The change that removes the collective. The explanation must have one.
const OutputObject<ReshardExplanation, ExplanationStyle> kRemoval = {
    {kTrial, [](Explained explained) -> const Trial& { return *explained.removal; }},
    {"instead", list_of(reference("reshard")),
     [](Explained explained, Style style) { return json_list(explained.instead, kReshard, style); }}};

const OutputObject<ReshardExplanation, ExplanationStyle> kExplainedStep = {
    {kExplanationHead, [](Explained, Style style) -> Style { return style; }},
    {"reshard", reference("reshard"),
     [](Explained explained, Style style) { return kReshard.json(explained.reshard, style); }},
    {"with", list_of(reference("reshard"), "other tensors that the step moves, largest first"),
     [](Explained explained, Style style) {
       return unless_empty(json_list(explained.others, kReshard, style));
     }},
    {"figures", reference("figures"),
     [](Explained explained) { return kLayoutFigures.json(explained.figures); }},
    {"tried", whole("layouts that were compiled"), &ReshardExplanation::tried},
    {"removal", or_null(kRemoval.schema()),
     [](Explained explained, Style style) {
       return explained.removal ? kRemoval.json(explained, style) : Json();
     }},
    {"cheaper", kTrial, &ReshardExplanation::cheaper}};

// -- of a program --

const OutputObject<CollectiveGroup, ExplanationStyle> kCollectiveGroup = {
    {"tensors", text("their names as one, as in layer_{0..5}/y"),
     [](const CollectiveGroup& group) { return folded(group).tensor; }},
    {"collective", text(),
     [](const CollectiveGroup& group) { return to_string(folded(group).collective.kind); }},
    {"axes", reference("axes"),
     [](const CollectiveGroup& group, Style style) {
       return json_of(folded(group).collective.axes, mesh_of(style));
     }},
    {"steps", list_of(whole()),
     [](const CollectiveGroup& group) {
       return json_list(group.members, [](const ReshardStep* member) { return member->step.index(); });
     }},
    {"total_bytes_sent_per_device", whole("of all these steps and their runs"), &CollectiveGroup::bytes}};

struct LargestReshards {
  size_t most;
};
const OutputObject<LargestReshards, ExplanationStyle> kExplainedList = {
    {kExplanationHead, [](const LargestReshards&, Style style) -> Style { return style; }},
    {"figures", reference("figures"),
     [](const LargestReshards&, Style style) { return kLayoutFigures.json(style.program.figures); }},
    {"reshards", list_of(reference("reshard")),
     [](const LargestReshards& list, Style style) {
       return json_list(largest(style.program.reshards, list.most), kReshard, style);
     }},
    {"groups",
     list_of(kCollectiveGroup.schema(), "collectives that differ only in the number of a repeated block"),
     [](const LargestReshards& list, Style style) {
       const std::vector<CollectiveGroup> groups = collective_groups(style.program.reshards, mesh_of(style));
       return json_list(groups | std::views::take(list.most), kCollectiveGroup, style);
     }}};

}  // namespace

std::string explanation_json(const TensorExplanation& explanation, const ExplanationStyle& style) {
  return dump_lines(kExplainedTensor.json(explanation, style), 2);
}

std::string explanation_json(const ReshardExplanation& explanation, const ExplanationStyle& style) {
  return dump_lines(kExplainedStep.json(explanation, style), 2);
}

std::string list_json(size_t most, const ExplanationStyle& style) {
  return dump_lines(kExplainedList.json({most}, style), 2);
}

std::string explanation_schema() {
  return output_schema(
      "mtfc explain", "What mtfc explain --format json prints: of a program, a step or a tensor",
      {{"oneOf", {kExplainedList.schema(), kExplainedStep.schema(), kExplainedTensor.schema()}}},
      {{"place", kPlace.schema()},
       {"form", kForm.schema()},
       {"halos", list_of(kHalos.schema())},
       {"figures", kLayoutFigures.schema()},
       {"reason", kFixedBy.schema()},
       {"change", kLayoutChange.schema()},
       {"operation", kOperation.schema()},
       {"reshard", kReshard.schema()}});
}

}  // namespace mtfc
