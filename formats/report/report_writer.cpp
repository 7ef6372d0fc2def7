#include "formats/report/report_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "formats/json/layout_keys.h"
#include "formats/json/output_object.h"
#include "formats/report/html_page.h"
#include "formats/report/report_figures.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

using namespace schema_parts;

using Report = const CostReport&;
using Order = std::optional<ProposedOrder>;

const OutputObject<CollectiveTotals> kTotals = {
    {"count", whole(), &CollectiveTotals::count},
    {"elements", whole("per device"), &CollectiveTotals::elements},
    {"bytes_sent", whole("per device"), &CollectiveTotals::bytes_sent}};

// The figures of a group (formats/report/report_figures.h).
OutputObject<CostReport>::Row figures(const char* group) {
  return {figure_schemas(group), [group](Report report) { return figures_object(group, report); }};
}
// The report itself, for an object that stands only in some.
const CostReport* only_if(bool holds, Report report) {
  return holds ? &report : nullptr;
}

const OutputObject<CostReport> kParameters = {
    figures("parameters"),
    {"groups", map_schema(whole(), "the elements of groups of variables"),
     [](Report report) { return unless_empty(json_map(report.parameters.groups)); }}};

const OutputObject<CostReport> kArithmetic = {figures("flops")};

const OutputObject<CostReport> kNodes = {figures("communication/between_nodes"),
                                         {"by_node", list_of(whole()), [](Report report) {
                                            return report.communication.between_nodes->bytes_sent;
                                          }}};

const OutputObject<CostReport> kCommunication = {
    figures("communication"),
    {"by_kind", map_schema(reference("totals"), "by kind of collective"),
     [](Report report) { return json_map(report.communication.by_kind, kTotals); }},
    {"by_axis", map_schema(reference("totals"), "by axis; rows+cols for a group over several"),
     [](Report report) { return json_map(report.communication.by_axis, kTotals); }},
    {"between_nodes", kNodes,
     [](Report report) { return only_if(report.communication.between_nodes.has_value(), report); }}};

const OutputObject<CostReport> kRecomputation = {
    {"tensors", texts("that are computed again"),
     [](Report report) {
       return json_list(report.recomputation->tensors, [](const auto& tensor) { return tensor.first; });
     }},
    figures("recomputation")};

const OutputObject<PlanFigures> kPlan = {
    {"cost", whole(), &PlanFigures::cost},
    {"bound", any_whole(), &PlanFigures::bound},
    {"gap", or_null(real()), plan_gap},
    {"hardware", text(), [](const PlanFigures& plan) { return unless_empty(plan.hardware); }}};

const OutputObject<GroupMemory> kGroupMemory = {{"variables", whole(), &GroupMemory::variables},
                                                {"optimizer_state", whole(), &GroupMemory::optimizer_state}};

const OutputObject<AliveTensor> kAlive = {{"name", text(), &AliveTensor::name},
                                          {"kind", text(), &AliveTensor::kind},
                                          {"bytes", whole(), &AliveTensor::bytes}};

const OutputObject<CostReport> kMemory = {
    figures("memory"),
    {"groups", map_schema(kGroupMemory.schema(), "the shares of groups of variables"),
     [](Report report) { return unless_empty(json_map(report.memory.groups, kGroupMemory)); }},
    {"largest_at_peak", list_of(kAlive.schema(), "the largest first"), [](Report report) {
       constexpr size_t kLargest = 20;
       return json_list(report.alive_at_peak | std::views::take(kLargest), kAlive);
     }}};

const OutputObject<CostReport> kTimeFigures = {figures("time")};
const OutputObject<CostReport> kTrainingFigures = {figures("training")};

const OutputObject<TensorCost, Mesh> kReportedTensor = {
    {"name", text(), &TensorCost::name},
    {"dims", reference("dims"), [](const TensorCost& tensor) { return json_of(tensor.dims); }},
    {"sharding", reference("splits"),
     [](const TensorCost& tensor, const Mesh& mesh) { return json_of(tensor.dims, tensor.sharding, mesh); }},
    {"local_shape", list_of(whole(), "on the device that is last on every axis"), &TensorCost::local_shape},
    {"local_shape_min", list_of(whole(), "on the first device"), &TensorCost::local_shape_min},
    {"partial", reference("partial"), [](const TensorCost& tensor, const Mesh& mesh) {
       return unless_empty(partial_json(tensor.sharding, mesh));
     }}};

const OutputObject<StepTime> kStepTime = {
    {"seconds", real(), &StepTime::seconds},
    {"begin_s", real(), &StepTime::begin_s},
    {"end_s", real(), &StepTime::end_s},
    {"bound", text("what limits it"), &StepTime::bound},
    {"at_peak_s", real("at the peak rates of the hardware"), &StepTime::at_peak_s}};

const OutputObject<StepCost, CostReport> kReportedStep = {
    {"name", text("of what it makes; of several tensors, of the largest"), &StepCost::name},
    {"kind", text("the operation or collective"), &StepCost::kind},
    {"source", text("JSON pointer of the operation in the model, or \"\""), &StepCost::source},
    {"phase", name_of<Phase>(), [](const StepCost& step) { return to_string(step.phase); }},
    {"axes", reference("axes"),
     [](const StepCost& step, Report report) { return json_of(step.axes, report.layout.mesh); }},
    {"elements", whole(), [](const StepCost& step) { return step.count.elements; }},
    {"bytes_sent", whole("per device"), [](const StepCost& step) { return step.count.bytes_sent; }},
    {"flops", whole("on the device that computes most"),
     [](const StepCost& step) { return step.count.flops; }},
    {"tensors_with_it", whole("other tensors that it moves together with that of its name"),
     [](const StepCost& step) { return unless_empty(step.others); }},
    {kStepTime,
     [](const StepCost& step, Report report) { return when(report.time.has_value(), step.time); }}};

const OutputObject<ProposedOrder> kProposedOrder = {
    {"axes", texts("the last one is inside the nodes"), &ProposedOrder::axes},
    {"device_order", list_of(whole()), &ProposedOrder::device_order},
    {"step_s", real(), &ProposedOrder::step_s}};

const OutputObject<CostReport, Order> kReport = {
    {"model", text(), &CostReport::model},
    {"entry", text("the entry point"), &CostReport::entry},
    {split_keys(), &CostReport::layout},
    {"limited_rules", reference("limited_rules"),
     [](Report report) { return unless_empty(limited_rules_json(report.layout)); }},
    {layout_keys(), &CostReport::layout},
    {"parameters", kParameters},
    {"flops", kArithmetic},
    {"communication", kCommunication},
    {"recomputation", kRecomputation,
     [](Report report) { return only_if(report.recomputation.has_value(), report); }},
    {"plan", kPlan, &CostReport::plan},
    {"memory",
     with_description(kMemory.schema(),
                      "bytes on a device; the parts from variables to alignment_and_gaps add up to the peak"),
     memory_json},
    {"time", kTimeFigures, [](Report report) { return only_if(report.time.has_value(), report); }},
    {"training", kTrainingFigures,
     [](Report report) { return only_if(report.training.has_value(), report); }},
    {"tensors", list_of(reference("tensor")),
     [](Report report) { return json_list(report.tensors, kReportedTensor, report.layout.mesh); }},
    {"steps", list_of(reference("step")),
     [](Report report) { return json_list(report.steps, kReportedStep, report); }},
    {"warnings", texts(), &CostReport::warnings},
    {"better_device_order", kProposedOrder, [](Report, const Order& order) { return order; }}};

const OutputObject<ComparedLayout> kImpossible = {
    {"model", text(), &ComparedLayout::model},
    {split_keys(), &ComparedLayout::layout},
    {"not_possible", text("why the layout is not legal for the model"), &ComparedLayout::reason}};

const OutputObject<Json> kReports = {
    {"mtfc_report", version(), kFirstVersion},
    {"layouts", list_of({{"anyOf", {reference("report"), kImpossible.schema()}}}, "in the order given"),
     std::identity()}};

Json report_definitions() {
  return {{"totals", kTotals.schema()},
          {"step", kReportedStep.schema()},
          {"tensor", kReportedTensor.schema()},
          {"report", kReport.schema()}};
}

// The times of one step, or of all steps of one kind.
struct KindTime {
  int64_t steps = 0;
  bool collective = false;
  double mean = 0, most = 0;   // seconds
  double start = 0, wait = 0;  // parts of `mean`, for a collective
  std::optional<double> predicted = {};

  void add(const KindTime& other) {
    steps += other.steps;
    mean += other.mean;
    most += other.most;
    start += other.start;
    wait += other.wait;
    if (other.predicted) predicted = predicted.value_or(0) + *other.predicted;
  }
};

// Returns one entry for every step of the program; a collective's, which includes its wait, is at its start.
std::vector<KindTime> step_times(const EntryPoint& entry, const RunFacts& facts,
                                 const std::optional<TimeCost>& predicted) {
  std::vector<KindTime> times(entry.steps.size());
  for (size_t i = 0; i < entry.steps.size(); ++i) {
    const Step& step = entry.steps[i];
    const auto* wait = step.as<AwaitCollective>();
    const bool waits = wait != nullptr, starts = step.kind() == StepKind::kStart;
    const double mean = facts.mean_seconds[i], most = facts.max_seconds[i];
    KindTime& time = times[wait ? wait->start.index() : i];
    time.collective = waits || starts;
    time.add({waits ? 0 : 1, false, mean, most, waits ? 0 : mean, waits ? mean : 0,
              when(predicted.has_value(), predicted && !starts ? predicted->steps[i].seconds : 0)});
  }
  return times;
}

const OutputObject<KindTime> kTimes = {
    {"predicted_seconds", real("for a collective: the waiting that the schedule leaves"),
     &KindTime::predicted},
    {"seconds", real("the mean over devices"), &KindTime::mean},
    {"seconds_max", real("of the slowest process"), &KindTime::most},
    {"start_seconds", real(), [](const KindTime& time) { return when(time.collective, time.start); }},
    {"wait_seconds", real(), [](const KindTime& time) { return when(time.collective, time.wait); }}};

const OutputObject<KindTime> kTimesOfKind = {{"steps", whole(), &KindTime::steps}, kTimes};

const OutputObject<KindTime, Step> kTimesOfStep = {
    {"name", text(), [](const KindTime&, const Step& step) { return step.name; }},
    {"kind", text(), [](const KindTime&, const Step& step) { return kind_of(step); }},
    {"source", text(), [](const KindTime&, const Step& step) { return step.source; }},
    {"phase", name_of<Phase>(), [](const KindTime&, const Step& step) { return to_string(step.phase); }},
    kTimes};

struct MeasuredRun {
  const EntryPoint& entry;
  const CostReport &predicted, &measured;
  const RunFacts& facts;
  std::vector<KindTime> times = step_times(entry, facts, predicted.time);
};
using Run = const MeasuredRun&;

// The kind that takes longest comes first.
Json kinds_json(Run run) {
  std::map<std::string, KindTime> kinds;
  for (size_t i = 0; i < run.times.size(); ++i) {
    if (run.entry.steps[i].kind() == StepKind::kWait) continue;
    KindTime& kind = kinds[kind_of(run.entry.steps[i])];
    kind.collective = run.times[i].collective;
    kind.add(run.times[i]);
  }
  std::vector<std::pair<std::string, KindTime>> ordered(kinds.begin(), kinds.end());
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.second.mean > b.second.mean; });
  return json_map(ordered, kTimesOfKind);
}

Json steps_json(Run run) {
  Json steps = Json::array();
  for (size_t i = 0; i < run.times.size(); ++i)
    if (const Step& step = run.entry.steps[i]; step.kind() != StepKind::kWait)
      steps.push_back(kTimesOfStep.json(run.times[i], step));
  return steps;
}

const OutputObject<MeasuredRun> kRunTime = {
    {"runs", whole("of the entry point, over which times are averaged"),
     [](Run run) { return run.facts.runs; }},
    {"seconds_per_step", real("the mean over ranks"), [](Run run) { return run.facts.seconds_per_step; }},
    {"steps_per_second", real(),
     [](Run run) { return run.facts.seconds_per_step > 0 ? 1 / run.facts.seconds_per_step : 0; }},
    {"input_seconds", real("of a step, to fill the inputs: the mean over ranks"),
     [](Run run) { return run.facts.input_seconds; }},
    {"predicted_seconds_per_step", real(),
     [](Run run) {
       const std::optional<TimeCost>& time = run.predicted.time;
       return when(time.has_value(), time ? time->step_s : 0);
     }},
    {"by_kind", map_schema(kTimesOfKind.schema(), "by kind of step"), kinds_json},
    {"steps", list_of(kTimesOfStep.schema()), steps_json}};

const OutputObject<MeasuredRun> kRun = {
    {"command", text("as a shell reads it"), [](Run run) { return run.facts.command; }},
    {"host", text("of the rank that writes"), [](Run run) { return run.facts.host; }},
    {"date", text("of the end of the run, in UTC: 2026-01-31T23:59:59Z"),
     [](Run run) { return run.facts.date; }},
    {"arena_bytes_per_device", whole("as allocated"), [](Run run) { return run.facts.arena_bytes; }},
    {"resident_bytes", whole("of the largest process"), [](Run run) { return run.facts.resident_bytes; }},
    {"ranks", whole(), [](Run run) { return run.facts.ranks; }},
    {"ranks_per_node", whole(), [](Run run) { return run.facts.ranks_per_node; }},
    {"threads_per_rank", whole(), [](Run run) { return run.facts.threads_per_rank; }},
    {"time", kRunTime}};

const OutputObject<MeasuredRun> kRunReport = {
    {"mtfc_run_report", version(), kFirstVersion},
    {"predicted", reference("report"), [](Run run) { return kReport.json(run.predicted, {}); }},
    {"measured", reference("report"), [](Run run) { return kReport.json(run.measured, {}); }},
    {"run", kRun}};

std::string report_text(const Json& layouts) {
  return dump_lines(kReports.json(layouts), 4);
}

}  // namespace

std::string bytes_in(const CostReport& report, int64_t bytes) {
  return bytes_beside(bytes, report.device_memory);
}

int64_t device_memory_of(const std::vector<ComparedLayout>& layouts) {
  for (const ComparedLayout& layout : layouts)
    if (layout.report) return layout.report->device_memory;
  return 0;
}

std::string plan_gap_text(const PlanFigures& plan) {
  const double gap = plan_gap(plan);
  return std::isfinite(gap) ? fmt::format("{:.3g} %", 100 * gap) : "unknown";
}

Json memory_json(const CostReport& report) {
  return kMemory.json(report);
}

std::string report_json(const std::vector<CostReport>& reports) {
  return report_text(json_list(reports, kReport, {}));
}

std::string report_json(const std::vector<ComparedLayout>& layouts) {
  return report_text(json_list(layouts, [](const ComparedLayout& layout) {
    return layout.report ? kReport.json(*layout.report, layout.order) : kImpossible.json(layout);
  }));
}

std::string report_schema() {
  return output_schema("mtfc cost-report", "What mtfc cost-report --format json prints", kReports.schema(),
                       report_definitions());
}

std::string run_report_json(const EntryPoint& entry, const CostReport& predicted, const CostReport& measured,
                            const RunFacts& facts) {
  return dump_lines(kRunReport.json({entry, predicted, measured, facts}), 4);
}

std::string run_report_schema() {
  return output_schema("mtfc run --report", "The file that mtfc run --report writes", kRunReport.schema(),
                       report_definitions());
}

}  // namespace mtfc
