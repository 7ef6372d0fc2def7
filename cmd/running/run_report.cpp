#include "cmd/running/run_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "cmd/files/files.h"
#include "core/cost/cost.h"
#include "formats/report/report_writer.h"
#include "formats/report/trace_writer.h"
#include "runtime/compute/threads.h"
#include "runtime/processes/job.h"

namespace mtfc {
namespace {

// The mean over ranks, as the times of steps are: where one rank is late, others wait for it within a step.
RunTime mean_over_ranks(const RunTime& own, Processes& processes) {
  constexpr double kNanoseconds = 1e9;
  std::vector<int64_t> sums = {std::llround(own.inputs * kNanoseconds),
                               std::llround(own.total * kNanoseconds)};
  processes.sum(sums);
  const double each = 1 / (kNanoseconds * static_cast<double>(processes.size()));
  return {static_cast<double>(sums[0]) * each, static_cast<double>(sums[1]) * each};
}

std::string date_text(std::time_t time) {
  std::tm utc{};
  gmtime_r(&time, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

// The bytes of this process in memory, 0 on a system that does not tell. A page that several processes share counts in
// equal shares for each of them (Linux's Pss).
int64_t proportional_memory() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("Pss:", 0) == 0) return std::stoll(line.substr(4)) * 1024;
  return 0;
}

RunFacts facts_of(Executor& executor, const MeasuredRun& run) {
  Processes& processes = executor.comm().processes();
  StepTimes times = run.timeline.times(run.entry, processes);
  const RunTime time = mean_over_ranks(run.time, processes);
  RunFacts facts;
  facts.command = run.command;
  facts.host = host_name();
  facts.date = date_text(std::time(nullptr));
  facts.arena_bytes = executor.arena_bytes();
  facts.resident_bytes = processes.maximum(proportional_memory());
  facts.ranks = processes.size();
  facts.ranks_per_node = processes.ranks_on_node();
  facts.threads_per_rank = threads();
  facts.runs = times.runs;
  facts.seconds_per_step = time.total;
  facts.input_seconds = time.inputs;
  facts.mean_seconds = std::move(times.mean_seconds);
  facts.max_seconds = std::move(times.max_seconds);
  return facts;
}

}  // namespace

void write_run_report(const std::string& path, Executor& executor, const MeasuredRun& run,
                      const Hardware* hardware) {
  const Program& program = executor.program();
  const EntryPoint& entry = run.entry;
  const std::vector<StepCount> counted = executor.counts(entry);
  const RunFacts facts = facts_of(executor, run);
  if (!executor.comm().processes().is_root()) return;
  CostReport predicted = cost_report(program, entry, predicted_counts(program, entry), hardware);
  const std::vector<int> nodes = executor.comm().nodes();
  if (std::any_of(nodes.begin(), nodes.end(), [&](int node) { return node != nodes.front(); }))
    add_node_traffic(program, entry, nodes, predicted);
  write_text(path, run_report_json(entry, predicted, cost_report(program, entry, counted), facts));
}

void write_timelines(const std::string& path, Executor& executor, const Timeline& timeline,
                     int64_t clock_offset) {
  const Program& program = executor.program();
  std::vector<DeviceTimeline> own;
  for (size_t device = 0; device < executor.devices(); ++device) {
    own.push_back(timeline.device_timeline(device));
    own.back().work.resize(program.entry_points.size());
    for (const TimedRun& run : own.back().runs)
      if (own.back().work[run.entry].empty())
        own.back().work[run.entry] = executor.work(program.entry_points[run.entry], device);
  }
  Processes& processes = executor.comm().processes();
  const std::vector<DeviceTimeline> all = gather_timelines(std::move(own), clock_offset, processes);
  if (processes.is_root()) write_pieces(path, [&](const TextSink& sink) { write_trace(program, all, sink); });
}

}  // namespace mtfc
