#include "formats/report/fit_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/diagnostics/printable.h"
#include "formats/json/layout_keys.h"
#include "formats/text/quantity.h"
#include "formats/text/wrapped_text.h"

namespace mtfc {
namespace {

std::string stage_text(const FitTrial& trial) {
  return trial.stage ? fmt::format("{}", *trial.stage) : "-";
}

std::string again_text(const FitTrial& trial) {
  return trial.recomputation ? seconds_text(trial.recomputation->seconds) : "-";
}

bool is_one_axis(const FitReport& report) {
  return std::all_of(report.result.fits.begin(), report.result.fits.end(),
                     [](const FitTrial& trial) { return trial.layout.mesh.axes().size() <= 1; });
}

// Says of a number of devices on which nothing fits what comes nearest.
std::string smallest_text(const FitTrial& trial, const FitReport& report) {
  const std::string with = trial.stage ? fmt::format("ZeRO stage {}", *trial.stage) : "";
  const std::string excess = bytes_beside(trial.memory - report.memory_limit, report.memory_limit);
  const std::string devices = counted(trial.layout.mesh.devices(), "device");
  if (trial.is_state_alone)
    return fmt::format("{}: nothing fits; variables and the optimizer's state alone take {}, {} too much{}",
                       devices, bytes_beside(trial.memory, report.memory_limit), excess,
                       with.empty() ? "" : ", with " + with);
  return fmt::format("{}: nothing {}; the least that was found is {}, {} too much, with {}{}{}", devices,
                     report.result.is_complete ? "fits" : "that was tried fits",
                     bytes_beside(trial.memory, report.memory_limit), excess,
                     with.empty() ? "" : with + " and ", counted(trial.microbatches, "microbatch", "es"),
                     trial.needs_recomputation ? ", and activations computed again" : "");
}

std::string tried_text(const FitReport& report) {
  const FitResult& result = report.result;
  std::string text =
      fmt::format("tried {} in {}", counted(result.trials, "training step"), seconds_text(report.seconds));
  if (result.ruled_out > 0)
    text += fmt::format("; {} of a mesh and a stage {} not tried, since the state alone does not fit",
                        counted(result.ruled_out, "combination"), result.ruled_out == 1 ? "was" : "were");
  if (result.is_complete) return text;
  text += "; stopped before all were tried";
  std::string devices;
  for (const int64_t count : result.undecided) devices += (devices.empty() ? "" : ", ") + grouped(count);
  return devices.empty() ? text
                         : fmt::format("{}: whether a step fits on {} device{} is not known", text, devices,
                                       devices == "1" ? "" : "s");
}

using namespace schema_parts;

using FitTried = const FitTrial&;

bool is_timed(FitTried trial) {
  return !trial.needs_recomputation && !trial.is_state_alone;
}

const OutputObject<FitTrial> kFitTrial = {
    {split_keys(), &FitTrial::layout},
    {"zero_stage", or_null(whole("of ZeRO")),
     [](FitTried trial) { return trial.stage ? Json(*trial.stage) : Json(); }},
    {"microbatches", whole(), &FitTrial::microbatches},
    {"scatters_each_microbatch", flag("each microbatch scatters its gradients (ZeRO)"), &FitTrial::scatters},
    {"memory_bytes_per_device", whole(), &FitTrial::memory},
    {"step_s", or_null(real()), [](FitTried trial) { return is_timed(trial) ? Json(trial.step_s) : Json(); }},
    {"recomputed_s", or_null(real("that a step computes again")), [](FitTried trial) {
       if (!is_timed(trial)) return Json();
       return Json(trial.recomputation ? trial.recomputation->seconds : 0);
     }}};

const OutputObject<FitReport> kFit = {
    {"mtfc_fit", version(), kFirstVersion},
    {"model", text(), &FitReport::model},
    {"hardware", text(), &FitReport::hardware},
    {"memory_limit", whole("bytes on a device"), &FitReport::memory_limit},
    {"complete", flag("the search was not stopped"),
     [](const FitReport& report) { return report.result.is_complete; }},
    {"undecided_devices",
     list_of(whole(), "numbers of devices on which nothing that was tried fits, though not all was tried"),
     [](const FitReport& report) { return report.result.undecided; }},
    {"trials", whole(), [](const FitReport& report) { return report.result.trials; }},
    {"seconds", real("that the search took"), &FitReport::seconds},
    {"fits", list_of(reference("trial")),
     [](const FitReport& report) { return json_list(report.result.fits, kFitTrial); }},
    {"too_large", list_of(reference("trial"), "the smallest on each number of devices"),
     [](const FitReport& report) { return json_list(report.result.smallest, kFitTrial); }}};

}  // namespace

std::string fit_table(const FitReport& report, const TableOptions& options) {
  std::string text = fmt::format("{}, train: what fits into {} per device of {}\n\n", printable(report.model),
                                 memory_text(report.memory_limit), printable(report.hardware));
  std::vector<std::vector<std::string>> rows = {
      {"devices", "ZeRO", "microbatches", "recomputed", "memory", "step", is_one_axis(report) ? "" : "mesh"}};
  for (const FitTrial& trial : report.result.fits)
    rows.push_back({grouped(trial.layout.mesh.devices()), stage_text(trial), grouped(trial.microbatches),
                    again_text(trial), bytes_beside(trial.memory, report.memory_limit),
                    seconds_text(trial.step_s),
                    is_one_axis(report) ? "" : printable(to_string(trial.layout.mesh))});
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const std::vector<std::string>& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (size_t i = 0; i + 1 < row.size(); ++i)
      line += fmt::format("{}{:>{}}", i == 0 ? "" : "  ", row[i], widths[i]);
    if (!row.back().empty()) line += "  " + row.back();
    text += line + "\n";
  }
  if (report.result.fits.empty()) text += report.result.is_complete ? "nothing\n" : "nothing yet\n";
  if (!report.result.smallest.empty()) text += "\n";
  for (const FitTrial& trial : report.result.smallest)
    text += wrapped("", smallest_text(trial, report), "  ", options.width);
  return text + "\n" + wrapped("", tried_text(report), "  ", options.width);
}

std::string fit_csv(const FitReport& report) {
  std::string text = "devices,mesh,zero_stage,microbatches,recomputed_s,memory_bytes_per_device,step_s\n";
  for (const FitTrial& trial : report.result.fits)
    text += fmt::format("{},\"{}\",{},{},{:.9g},{},{:.9g}\n", trial.layout.mesh.devices(),
                        to_string(trial.layout.mesh), trial.stage ? fmt::format("{}", *trial.stage) : "",
                        trial.microbatches, trial.recomputation ? trial.recomputation->seconds : 0,
                        trial.memory, trial.step_s);
  return text;
}

std::string fit_json(const FitReport& report) {
  return dump_lines(kFit.json(report), 3);
}

std::string fit_schema() {
  return output_schema("mtfc search --fit", "What mtfc search --fit --format json prints", kFit.schema(),
                       {{"trial", kFitTrial.schema()}});
}

}  // namespace mtfc
