#pragma once
// Cost reports as JSON, as a table for the terminal, as CSV and as an HTML page.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cost/comparison.h"
#include "core/cost/cost.h"
#include "core/cost/hardware.h"

namespace mtfc {

/// {"mtfc_report": 1, "layouts": [report, ...]}. The output depends on the reports alone.
std::string report_json(const std::vector<CostReport>& reports);

/// The same; an impossible layout is an object with its mesh, its rules and the reason, `not_possible`.
std::string report_json(const std::vector<ComparedLayout>& layouts);
/// The JSON Schema of both.
std::string report_schema();

struct TableOptions {
  size_t width = 80;      // characters per line
  size_t top = 10;        // operations, and tensors alive at the peak, for a single layout
  size_t parts = 0;       // depth of the scopes by which times are added up; 0: not at all
  bool in_order = false;  // the layouts come in the order of a search: by time, and within 1 % by their rules
  int64_t tried = 0;      // layouts that a search had tried when it was stopped; 0: it was not stopped
  bool totals = true;     // of several layouts: side by side, unless there are too many
  bool details = false;   // of a search
  bool color = false;     // what does not fit is red
};
/// All bytes in a report for people are in the units in which it calls the memory of a device: in GB beside one of 80
/// GB, in GiB beside one of 16 GiB and where none is known.
std::string bytes_in(const CostReport& report, int64_t bytes);
/// The memory of a device, as the reports of the layouts have it; 0: not known.
int64_t device_memory_of(const std::vector<ComparedLayout>& layouts);
/// By how much a plan costs more than its bound, `4.2 %`, or that no bound is known.
std::string plan_gap_text(const PlanFigures& plan);
/// One layout: totals, then the costliest steps, then the tensors alive at the peak. Several layouts: one
/// line each, the best first unless they come in order, then the totals of all; without these, the lines have the
/// efficiency, the tokens per second, the time and the price of training as well.
std::string report_table(const std::vector<ComparedLayout>& layouts, const TableOptions& options);

/// One line per layout, in the order given, with all totals. With `top`: one line per step instead, for the
/// `top` costliest steps of each layout.
std::string report_csv(const std::vector<ComparedLayout>& layouts, std::optional<size_t> top);

/// What a page says about where its figures come from; what is empty or absent is left out.
struct ReportOrigin {
  std::string command;            // as a shell reads it
  std::string version;            // of mtfc: `mtfc 0.1.0`
  std::vector<std::string> sets;  // `NAME=VALUE`, values that replace those of the model
  std::optional<Hardware> hardware;
};

struct PageOptions {
  size_t top = 10;             // rows of each long table
  size_t parts = 3;            // depth of the scopes by which times are added up
  int64_t ranks_per_node = 0;  // of consecutive ranks; 0: not known
  ReportOrigin origin = {};
};
/// One page that needs no network: bars that compare the layouts; for the best of them, totals, the mesh, time and
/// memory over a step, the costliest steps, the collectives, and the tensors as matrices cut into the shards of the
/// ranks. Without scripts, it shows the table. The page depends on the arguments alone.
std::string report_html(const std::vector<ComparedLayout>& layouts, const PageOptions& options);

/// Measurements of a run that its program doesn't count.
struct RunFacts {
  std::string command;         // as a shell reads it
  std::string host;            // of the rank that writes
  std::string date;            // of the end of the run: 2026-01-31T23:59:59Z
  int64_t arena_bytes = 0;     // per device, as allocated
  int64_t resident_bytes = 0;  // largest process; shared pages are divided among processes (Pss)
  int64_t ranks = 1;
  int64_t ranks_per_node = 1;
  int64_t threads_per_rank = 1;
  int64_t runs = 0;             // runs of the entry point over which the times below are averaged
  double seconds_per_step = 0;  // all of a run, its inputs and its steps: the mean over ranks
  double input_seconds = 0;     // the part of it that fills the inputs
  // For each step of the program, one run of it: the mean over devices, and the largest of any process.
  std::vector<double> mean_seconds, max_seconds;
};
/// {"mtfc_run_report": 1, "predicted": report, "measured": report, "run": facts}: both reports have the keys of those
/// of report_json. In
/// `run`, `time` has the times by kind of step and step by step, with a collective's start and wait apart,
/// and beside them the predicted times if `predicted` has any: for a collective, the waiting that the
/// schedule leaves.
std::string run_report_json(const EntryPoint& entry, const CostReport& predicted, const CostReport& measured,
                            const RunFacts& facts);
std::string run_report_schema();

}  // namespace mtfc
