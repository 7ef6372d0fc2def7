#include "formats/report/report_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/cost/comparison.h"
#include "core/diagnostics/error.h"
#include "core/diagnostics/printable.h"
#include "formats/json/schema_parts.h"
#include "formats/report/report_writer.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

using Report = const CostReport&;
using Found = std::optional<FigureValue>;
using enum FigureUnit;

// Members of parts, which a report or a part may lack.
template <typename T>
const T* held(const T& value) {
  return &value;
}
template <typename T>
const T* held(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}
template <auto kPart, auto kMember>
Found of(Report report) {
  const auto* part = held(report.*kPart);
  if (!part) return {};
  const auto* value = held(part->*kMember);
  return value ? Found(*value) : Found();
}
// Of the training on many tokens.
template <auto kMember>
Found of_plan(Report report) {
  return report.training && report.training->tokens ? Found(*report.training.*kMember) : Found();
}
template <auto kFunction>
Found of_nodes(Report report) {
  const std::optional<NodeTotals>& nodes = report.communication.between_nodes;
  return nodes ? Found(kFunction(*nodes)) : Found();
}
template <auto kFunction>
Found of_limit(Report report) {
  return report.device_memory > 0 ? Found(kFunction(report)) : Found();
}
template <auto kMember>
constexpr auto kOfTime = of<&CostReport::time, kMember>;
template <auto kMember>
constexpr auto kOfFlops = of<&CostReport::arithmetic, kMember>;
template <auto kMember>
constexpr auto kOfMemory = of<&CostReport::memory, kMember>;
template <auto kMember>
constexpr auto kOfTraining = of<&CostReport::training, kMember>;
template <auto kMember>
constexpr auto kOfParameters = of<&CostReport::parameters, kMember>;

Found least_seconds(Report report) {
  if (!report.recomputation) return {};
  const Recomputation& made = *report.recomputation;
  return made.is_best ? made.seconds : std::min(made.seconds, made.least_seconds);
}

constexpr bool kIsOptional = true;

constexpr ReportFigure kFigures[] = {
    {"/time/step_s", "step_s", "predicted step time", "step", kSeconds, "", kOfTime<&TimeCost::step_s>},
    {"/time/compute_s", "compute_s", "  compute", "", kSeconds, "", kOfTime<&TimeCost::compute_s>},
    {"/time/communication_s", "communication_s", "  communication", "", kSeconds, "",
     kOfTime<&TimeCost::communication_s>},
    {"/time/roofline_s", "roofline_s", "  roofline", "", kSeconds, "", kOfTime<&TimeCost::roofline_s>},
    {"/time/efficiency", "efficiency", "  efficiency (MFU)", "MFU", kShare,
     "the MFU: useful products at the peak rate over the time of the step", kOfTime<&TimeCost::efficiency>},
    {"/time/hardware", "hardware", "  hardware", "", kName, "the profile", kOfTime<&TimeCost::hardware>},

    {"/training/tokens_per_step", "tokens_per_step", "tokens per step", "", kCount, "",
     kOfTraining<&TrainingCost::tokens_per_step>},
    {"/training/tokens_per_second", "tokens_per_second", "  per second", "tokens/s", kAmount, "",
     kOfTraining<&TrainingCost::tokens_per_second>},
    {"/training/tokens", "", "", "", kAmount, "to train on", kOfTraining<&TrainingCost::tokens>, kIsOptional},
    {"/training/steps", "training_steps", "steps for all tokens", "", kAmount, "",
     of_plan<&TrainingCost::steps>, kIsOptional},
    {"/training/seconds", "training_seconds", "  time", "time", kDuration, "",
     of_plan<&TrainingCost::seconds>, kIsOptional},
    {"/training/device_hours", "training_device_hours", "  device hours", "", kAmount, "",
     of_plan<&TrainingCost::device_hours>, kIsOptional},
    {"/training/price", "training_price", "  price", "price", kAmount, "", kOfTraining<&TrainingCost::price>,
     kIsOptional},

    {"/parameters/count", "parameters", "parameters", "", kElements, "",
     kOfParameters<&ParameterCost::count>},
    {"/parameters/bytes", "", "", "", kBytes, "", kOfParameters<&ParameterCost::bytes>},
    {"/parameters/bytes_per_device", "parameter_bytes_per_device", "  per device", "", kBytes, "",
     kOfParameters<&ParameterCost::bytes_per_device>},

    {"/flops/einsum_per_device", "einsum_flops_per_device", "einsum, per device", "einsum", kFlops, "",
     kOfFlops<&ArithmeticCost::einsum_per_device>},
    {"/flops/einsum_total", "einsum_flops_total", "einsum, all devices", "", kFlops, "over all devices",
     kOfFlops<&ArithmeticCost::einsum_total>},
    {"/flops/einsum_useful", "einsum_flops_useful", "einsum, useful", "", kFlops, "of the model itself",
     kOfFlops<&ArithmeticCost::einsum_useful>},
    {"/flops/duplication", "duplication", "duplication", "", kRatio, "einsum_total over einsum_useful",
     kOfFlops<&ArithmeticCost::duplication>},
    {"/flops/imbalance", "imbalance", "imbalance", "", kRatio, "the busiest device over the mean",
     kOfFlops<&ArithmeticCost::imbalance>},
    {"/flops/other_per_device", "other_flops_per_device", "other, per device", "", kFlops, "",
     kOfFlops<&ArithmeticCost::other_per_device>},

    {"/communication/count", "collectives", "collectives", "", kCount, "collectives in a step",
     [](Report r) { return Found(r.communication.total.count); }},
    {"/communication/joined", "", "", "", kCount,
     "all_reduces that are sent with others, beside those of count",
     [](Report r) { return Found(r.communication.joined); }},
    {"/communication/elements_per_device", "elements_per_device", "elements, per device", "", kCount, "",
     [](Report r) { return Found(r.communication.total.elements); }},
    {"/communication/bytes_sent_per_device", "bytes_sent_per_device", "bytes sent, per device", "sent",
     kBytes, "", [](Report r) { return Found(r.communication.total.bytes_sent); }},

    {"/communication/between_nodes/nodes", "", "nodes", "", kCount, "",
     of_nodes<[](const NodeTotals& nodes) { return static_cast<int64_t>(nodes.bytes_sent.size()); }>},
    {"/communication/between_nodes/bytes_sent_per_node", "bytes_sent_per_node", "  sent to others, per node",
     "", kBytes, "by the node that sends most",
     of_nodes<[](const NodeTotals& nodes) { return nodes.most(); }>},
    {"/communication/between_nodes/bytes_sent", "", "  by all nodes", "", kBytes, "by all nodes",
     of_nodes<[](const NodeTotals& nodes) { return nodes.all(); }>},

    {"/recomputation/seconds", "", "computed again to fit", "", kSeconds, "that this takes",
     of<&CostReport::recomputation, &Recomputation::seconds>},
    {"/recomputation/least_seconds", "", "", "", kSeconds, "a bound on what it takes", least_seconds},
    {"/recomputation/step_before", "", "", "", kSeconds, "the seconds of a step without it",
     of<&CostReport::recomputation, &Recomputation::step_before_s>},
    {"/recomputation/peak_before", "", "", "", kBytes, "the bytes at the peak without it",
     of<&CostReport::recomputation, &Recomputation::memory_before>},
    {"/recomputation/least_peak", "", "", "", kBytes, "the bytes at the peak with as much of it as possible",
     of<&CostReport::recomputation, &Recomputation::least_memory>},

    {"/memory/peak_bytes_per_device", "peak_bytes_per_device", "memory at the peak, per device", "memory",
     kBytes, "", kOfMemory<&MemoryCost::peak>},
    {"/memory/device_bytes", "device_bytes", "", "", kBytes, "what a device may use",
     of_limit<[](Report r) { return r.device_memory; }>, kIsOptional},
    {"/memory/fits", "fits", "", "fits", kFlag, "", of_limit<[](Report r) { return excess_memory(r) == 0; }>,
     kIsOptional},
    {"/memory/excess_bytes", "excess_bytes", "", "", kBytes, "by how much the peak exceeds device_bytes",
     of_limit<[](Report r) { return excess_memory(r); }>, kIsOptional},
    {"/memory/variables", "variables_bytes", "  variables", "", kBytes, "",
     kOfMemory<&MemoryCost::variables>},
    {"/memory/optimizer_state", "optimizer_state_bytes", "  optimizer state", "", kBytes, "",
     kOfMemory<&MemoryCost::optimizer_state>},
    {"/memory/caches", "caches_bytes", "  caches", "", kBytes, "", kOfMemory<&MemoryCost::caches>},
    {"/memory/variable_copies", "variable_copies_bytes", "  copies of variables", "", kBytes, "",
     kOfMemory<&MemoryCost::variable_copies>},
    {"/memory/inputs", "inputs_bytes", "  inputs", "", kBytes, "", kOfMemory<&MemoryCost::inputs>},
    {"/memory/activations_at_peak", "activations_at_peak_bytes", "  activations", "", kBytes, "",
     kOfMemory<&MemoryCost::activations_at_peak>},
    {"/memory/gradients", "gradients_bytes", "  gradients", "", kBytes, "",
     kOfMemory<&MemoryCost::gradients>},
    {"/memory/workspace", "workspace_bytes", "  workspace", "", kBytes, "",
     kOfMemory<&MemoryCost::workspace>},
    {"/memory/alignment_and_gaps", "alignment_and_gaps_bytes", "  alignment and gaps", "", kBytes, "",
     kOfMemory<&MemoryCost::gaps>},
    {"/memory/peak_step", "", "", "", kName, "the step at which the memory peaks",
     kOfMemory<&MemoryCost::peak_step>},
};

// The group of a pointer, and the key in it.
std::string_view group_of(const ReportFigure& figure) {
  const std::string_view pointer = figure.pointer;
  return pointer.substr(1, pointer.rfind('/') - 1);
}
std::string key_of(const ReportFigure& figure) {
  const std::string_view pointer = figure.pointer;
  return std::string(pointer.substr(pointer.rfind('/') + 1));
}

std::string text_of(Report report, FigureUnit unit, const FigureValue& value) {
  const auto whole = [&] { return std::get<int64_t>(value); };
  const auto real = [&] { return std::get<double>(value); };
  switch (unit) {
    case kCount:
      return grouped(whole());
    case kElements:
      return count_text(whole(), "");
    case kFlops:
      return count_text(whole(), "FLOP");
    case kBytes:
      return bytes_in(report, whole());
    case kFlag:
      return std::get<bool>(value) ? "yes" : "no";
    case kSeconds:
      return seconds_text(real());
    case kDuration:
      return duration_text(real());
    case kAmount:
      return amount_text(real());
    case kRatio:
      return fmt::format("{:.3g}", real());
    case kShare:
      return fmt::format("{:.3g} %", 100 * real());
    case kName:
      return printable(std::get<std::string>(value));
  }
  throw InternalError("a figure without a unit");
}

}  // namespace

std::span<const ReportFigure> report_figures() {
  return kFigures;
}

std::span<const ReportFigure> figures_of(std::string_view group) {
  const auto is_in = [&](const ReportFigure& figure) { return group_of(figure) == group; };
  const auto first = std::find_if(std::begin(kFigures), std::end(kFigures), is_in);
  return {first, std::find_if_not(first, std::end(kFigures), is_in)};
}

const ReportFigure& figure_at(std::string_view pointer) {
  const auto at = std::find_if(std::begin(kFigures), std::end(kFigures),
                               [&](const ReportFigure& figure) { return figure.pointer == pointer; });
  check_invariant(at != std::end(kFigures), "a report has no such figure");
  return *at;
}

std::string figure_text(const ReportFigure& figure, const CostReport& report) {
  const Found found = figure.of(report);
  return found ? text_of(report, figure.unit, *found) : "-";
}

std::string figure_digits(const ReportFigure& figure, const CostReport& report) {
  const Found found = figure.of(report);
  if (!found) return "";
  if (const bool* is_so = std::get_if<bool>(&*found)) return *is_so ? "yes" : "no";
  return std::visit([](const auto& value) { return fmt::format("{}", value); }, *found);
}

Json figures_object(std::string_view group, const CostReport& report) {
  Json object = Json::object();
  for (const ReportFigure& figure : figures_of(group))
    if (const Found found = figure.of(report))
      std::visit([&](const auto& value) { object[key_of(figure)] = value; }, *found);
  return object;
}

Json figure_schemas(std::string_view group) {
  Json properties = Json::object();
  for (const ReportFigure& figure : figures_of(group))
    properties[key_of(figure) + (figure.is_optional ? "?" : "")] = figure_schema(figure);
  return properties;
}

Json figure_schema(const ReportFigure& figure) {
  using namespace schema_parts;
  if (figure.unit <= kBytes) return whole(figure.meaning);
  return figure.unit == kFlag   ? flag(figure.meaning)
         : figure.unit == kName ? text(figure.meaning)
                                : real(figure.meaning);
}

}  // namespace mtfc
