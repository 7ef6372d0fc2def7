#include "formats/report/report_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "formats/json/ordered_json.h"
#include "formats/report/html_page.h"
#include "formats/report/report_figures.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

Json totals_json(const CollectiveTotals& totals) {
  return {{"count", totals.count}, {"elements", totals.elements}, {"bytes_sent", totals.bytes_sent}};
}

Json totals_json(const std::map<std::string, CollectiveTotals>& map) {
  Json json = Json::object();
  for (const auto& [name, totals] : map) json[name] = totals_json(totals);
  return json;
}

Json tensor_json(const TensorCost& tensor, const Mesh& mesh) {
  Json json = {{"name", tensor.name},
               {"dims", json_of(tensor.dims)},
               {"sharding", json_of(tensor.dims, tensor.sharding, mesh)},
               {"local_shape", tensor.local_shape},
               {"local_shape_min", tensor.local_shape_min}};
  if (!tensor.sharding.partial.empty()) json["partial"] = partial_json(tensor.sharding, mesh);
  return json;
}

Json step_json(const StepCost& step, const Mesh& mesh, bool timed) {
  Json json = {{"name", step.name},
               {"kind", step.kind},
               {"source", step.source},
               {"phase", to_string(step.phase)},
               {"axes", json_of(step.axes, mesh)},
               {"elements", step.count.elements},
               {"bytes_sent", step.count.bytes_sent},
               {"flops", step.count.flops}};
  if (step.others > 0) json["tensors_with_it"] = step.others;
  if (!timed) return json;
  json["seconds"] = step.time.seconds;
  json["begin_s"] = step.time.begin_s;
  json["end_s"] = step.time.end_s;
  json["bound"] = step.time.bound;
  json["at_peak_s"] = step.time.at_peak_s;
  return json;
}

Json report_object(const CostReport& report) {
  const Mesh& mesh = report.layout.mesh;
  Json json = {{"model", report.model},
               {"entry", report.entry},
               {"mesh", json_of(mesh)},
               {"devices", mesh.devices()},
               {"layout", json_of(report.layout)}};
  if (!report.layout.limited_rules.empty()) json["limited_rules"] = limited_rules_json(report.layout);
  if (!report.layout.annotations.empty()) json["shardings"] = annotations_json(report.layout);
  if (report.layout.propagate) json["propagate"] = true;
  json.update(state_sharding_json(report.layout));
  json.update(rings_json(report.layout));
  if (!mesh.device_order().empty()) json["device_order"] = mesh.device_order();
  json["parameters"] = figures_object("parameters", report);
  for (const auto& [name, count] : report.parameters.groups) json["parameters"]["groups"][name] = count;
  json["flops"] = figures_object("flops", report);
  const CommunicationCost& sent = report.communication;
  json["communication"] = figures_object("communication", report);
  json["communication"].update(
      {{"by_kind", totals_json(sent.by_kind)}, {"by_axis", totals_json(sent.by_axis)}});
  if (sent.between_nodes) {
    json["communication"]["between_nodes"] = figures_object("communication/between_nodes", report);
    json["communication"]["between_nodes"]["by_node"] = sent.between_nodes->bytes_sent;
  }
  if (report.recomputation) {
    json["recomputation"] = {{"tensors", json_list(report.recomputation->tensors,
                                                   [](const auto& tensor) { return tensor.first; })}};
    json["recomputation"].update(figures_object("recomputation", report));
  }
  if (report.plan) {
    json["plan"] = {
        {"cost", report.plan->cost}, {"bound", report.plan->bound}, {"gap", plan_gap(*report.plan)}};
    if (!report.plan->hardware.empty()) json["plan"]["hardware"] = report.plan->hardware;
  }
  json["memory"] = memory_json(report);
  if (report.time) json["time"] = figures_object("time", report);
  if (report.training) json["training"] = figures_object("training", report);
  json["tensors"] =
      json_list(report.tensors, [&](const TensorCost& tensor) { return tensor_json(tensor, mesh); });
  json["steps"] = json_list(
      report.steps, [&](const StepCost& step) { return step_json(step, mesh, report.time.has_value()); });
  json["warnings"] = report.warnings;
  return json;
}

// The times of one step, or of all steps of one kind.
struct KindTime {
  int64_t steps = 0;
  bool collective = false;
  double mean = 0, most = 0;   // seconds
  double start = 0, wait = 0;  // parts of `mean`, for a collective
  double predicted = 0;

  void add(const KindTime& other) {
    steps += other.steps;
    mean += other.mean;
    most += other.most;
    start += other.start;
    wait += other.wait;
    predicted += other.predicted;
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
              predicted && !starts ? predicted->steps[i].seconds : 0});
  }
  return times;
}

void put_time(Json& json, const KindTime& time, bool predicted) {
  if (predicted) json["predicted_seconds"] = time.predicted;
  json["seconds"] = time.mean;
  json["seconds_max"] = time.most;
  if (!time.collective) return;
  json["start_seconds"] = time.start;
  json["wait_seconds"] = time.wait;
}

// The kind that takes longest comes first.
Json kinds_json(const EntryPoint& entry, const std::vector<KindTime>& times, bool predicted) {
  std::map<std::string, KindTime> kinds;
  for (size_t i = 0; i < times.size(); ++i) {
    if (entry.steps[i].kind() == StepKind::kWait) continue;
    KindTime& kind = kinds[kind_of(entry.steps[i])];
    kind.collective = times[i].collective;
    kind.add(times[i]);
  }
  std::vector<std::pair<std::string, KindTime>> ordered(kinds.begin(), kinds.end());
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.second.mean > b.second.mean; });
  Json json = Json::object();
  for (const auto& [name, time] : ordered) {
    json[name]["steps"] = time.steps;
    put_time(json[name], time, predicted);
  }
  return json;
}

Json time_json(const EntryPoint& entry, const RunFacts& facts, const std::optional<TimeCost>& predicted) {
  Json json = {{"runs", facts.runs},
               {"seconds_per_step", facts.seconds_per_step},
               {"steps_per_second", facts.seconds_per_step > 0 ? 1 / facts.seconds_per_step : 0},
               {"input_seconds", facts.input_seconds}};
  if (predicted) json["predicted_seconds_per_step"] = predicted->step_s;
  const std::vector<KindTime> times = step_times(entry, facts, predicted);
  json["by_kind"] = kinds_json(entry, times, predicted.has_value());
  json["steps"] = Json::array();
  for (size_t i = 0; i < times.size(); ++i) {
    const Step& step = entry.steps[i];
    if (step.kind() == StepKind::kWait) continue;
    Json line = {{"name", step.name},
                 {"kind", kind_of(step)},
                 {"source", step.source},
                 {"phase", to_string(step.phase)}};
    put_time(line, times[i], predicted.has_value());
    json["steps"].push_back(std::move(line));
  }
  return json;
}

Json impossible_object(const ComparedLayout& layout) {
  return {{"model", layout.model},
          {"mesh", json_of(layout.layout.mesh)},
          {"devices", layout.layout.mesh.devices()},
          {"layout", json_of(layout.layout)},
          {"not_possible", layout.reason}};
}

std::string report_text(Json layouts) {
  return dump_lines({{"mtfc_report", 1}, {"layouts", std::move(layouts)}}, 4);
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
  constexpr size_t kLargest = 20;
  const MemoryCost& memory = report.memory;
  Json json = figures_object("memory", report);
  for (const auto& [name, group] : memory.groups)
    json["groups"][name] = {{"variables", group.variables}, {"optimizer_state", group.optimizer_state}};
  const auto largest = report.alive_at_peak | std::views::take(kLargest);
  json["largest_at_peak"] = json_list(largest, [](const AliveTensor& tensor) -> Json {
    return {{"name", tensor.name}, {"kind", tensor.kind}, {"bytes", tensor.bytes}};
  });
  return json;
}

std::string report_json(const std::vector<CostReport>& reports) {
  return report_text(json_list(reports, report_object));
}

std::string report_json(const std::vector<ComparedLayout>& layouts) {
  Json list = Json::array();
  for (const ComparedLayout& layout : layouts) {
    list.push_back(layout.report ? report_object(*layout.report) : impossible_object(layout));
    if (layout.order)
      list.back()["better_device_order"] = {{"axes", layout.order->axes},
                                            {"device_order", layout.order->device_order},
                                            {"step_s", layout.order->step_s}};
  }
  return report_text(std::move(list));
}

std::string run_report_json(const EntryPoint& entry, const CostReport& predicted, const CostReport& measured,
                            const RunFacts& facts) {
  Json both = {{"mtfc_run_report", 1}};
  both["predicted"] = report_object(predicted);
  both["measured"] = report_object(measured);
  both["run"] = {{"command", facts.command},
                 {"host", facts.host},
                 {"date", facts.date},
                 {"arena_bytes_per_device", facts.arena_bytes},
                 {"resident_bytes", facts.resident_bytes},
                 {"ranks", facts.ranks},
                 {"ranks_per_node", facts.ranks_per_node},
                 {"threads_per_rank", facts.threads_per_rank},
                 {"time", time_json(entry, facts, predicted.time)}};
  return dump_lines(both, 4);
}

}  // namespace mtfc
