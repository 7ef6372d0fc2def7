#include "cmd/running/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>

#include "cmd/files/files.h"
#include "cmd/launch/launch.h"
#include "cmd/running/run_files.h"
#include "cmd/terminal/interrupt.h"
#include "cmd/terminal/progress.h"
#include "core/cost/cost.h"
#include "core/diagnostics/suggest.h"
#include "formats/data/npy.h"
#include "formats/report/metrics_writer.h"
#include "formats/report/report_writer.h"
#include "formats/report/trace_writer.h"
#include "runtime/compute/threads.h"
#include "runtime/data/array_file.h"
#include "runtime/data/feed.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/timeline.h"
#include "runtime/processes/clock_offset.h"

namespace mtfc {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double number_at(const LocalPart& part) {
  const auto read = [&](auto zero) {
    std::memcpy(&zero, part.data, sizeof zero);
    return static_cast<double>(zero);
  };
  switch (part.type.dtype) {
    case DType::kF32:
      return read(float{});
    case DType::kF64:
      return read(double{});
    case DType::kI32:
      return read(int32_t{});
    case DType::kI64:
      return read(int64_t{});
    case DType::kBool:
      return read(uint8_t{});
  }
  return 0;
}

// Decides, alike on all ranks, whether an interrupt ends the run. Asking costs a message, so it is asked for
// about ten times a second.
class StopAgreement {
 public:
  explicit StopAgreement(Processes& processes) : processes_(processes) {}

  bool stops_after(int64_t step, double step_seconds) {
    if (processes_.size() == 1) return InterruptGuard::requested();
    if (step < next_) return false;
    const auto interval = static_cast<int64_t>(std::clamp(0.1 / std::max(step_seconds, 1e-9), 1.0, 1000.0));
    int64_t agreed[2] = {InterruptGuard::requested(), interval};
    processes_.maximum(agreed);
    next_ = step + agreed[1];
    return agreed[0] != 0;
  }

 private:
  Processes& processes_;
  int64_t next_ = 0;
};

// Seconds of the runs of the entry point that is measured, without the first where there are several: it
// touches memory for the first time.
struct RunTimes {
  int64_t runs = 0;
  double inputs = 0, total = 0;

  void add(double input_seconds, double seconds) {
    if (++runs == 2) inputs = total = 0;
    inputs += input_seconds;
    total += seconds;
  }
  double mean(double sum) const { return sum / static_cast<double>(std::max<int64_t>(1, runs - 1)); }
};

class TrainingRun {
 public:
  TrainingRun(const Program& program, const RunOptions& options, RunData data, Comm& comm,
              const Hardware* hardware)
      : program_(program),
        options_(options),
        hardware_(hardware),
        data_(std::move(data)),
        executor_(program, comm, {data_.seed, options.check_finite}),
        train_(program.find("train")),
        evaluate_(*program.find("evaluate")),
        main_(main_entry(program, options.evaluate)),
        timeline_(program, executor_.devices(), options.trace.empty() ? 0 : options.trace_steps) {
    if (!options.report.empty() || !options.trace.empty()) executor_.record(&timeline_);
  }

  void execute() {
    if (!options_.trace.empty()) clock_offset_ = clock_offset(processes());
    executor_.load(main_);
    set_variables();
    if (options_.evaluate)
      evaluate();
    else
      take_steps();
    write_outputs();
    write_report();
    write_timeline();
  }

 private:
  Processes& processes() { return executor_.comm().processes(); }
  bool talks() { return processes().speaks() && !options_.model.quiet; }

  // Results go to standard output, unless a file does. Where both streams end at the terminal they take the
  // way of the progress line, or a launcher in between could pass them on before that line is cleared.
  std::ostream& results() const {
    return uses_standard_output(options_) || (is_terminal(1) && is_terminal(2)) ? std::cerr : std::cout;
  }

  void set_variables() {
    const EntryPoint& init = *program_.find("init");
    if (data_.values.size() < program_.variables.size()) executor_.run(init, 0);
    fill_variables(executor_, data_.values);
    data_.values.clear();  // unmaps the files
  }

  // The outputs that are single numbers; they are whole, so every rank has them.
  std::vector<NamedNumber> numbers(const EntryPoint& entry) const {
    std::vector<NamedNumber> found;
    for (const Binding& output : entry.outputs) {
      const LocalPart part = executor_.part(entry, output.value, 0);
      if (part.type.dims.empty()) found.emplace_back(output.name, number_at(part));
    }
    return found;
  }

  void take_steps() {
    check_valid();
    Feed feed(executor_, main_, data_.inputs, data_.seed);
    const int64_t first = data_.start ? data_.start->step : 0;
    if (data_.start) feed.go_on(first, data_.start->rows);
    MetricsFile metrics(options_.metrics, processes().speaks(), first);
    // Metrics on the terminal show the progress themselves.
    const bool shows_metrics = options_.metrics == "-" && is_terminal(1);
    Progress progress({first, options_.steps, feed.batch()}, talks() && !shows_metrics, is_terminal(2),
                      terminal_width());
    StopAgreement agreement(processes());
    InterruptGuard guard;
    std::vector<NamedNumber> last, valid;
    int64_t step = first;
    if (step >= options_.steps) {
      require_step_for_outputs();
      save(step, feed);
    }
    for (bool stop = false; step < options_.steps && !stop; ++step) {
      const Clock::time_point start = Clock::now();
      feed.fill_training(step);
      const double filled = seconds_since(start);
      executor_.run(main_, step);
      const double seconds = seconds_since(start);
      times_.add(filled, seconds);
      last = numbers(main_);
      progress.show(step + 1, last);
      stop = agreement.stops_after(step, seconds);
      const bool ends = stop || step + 1 == options_.steps;
      const bool validate = !data_.valid.empty() &&
                            (ends || (options_.valid_every > 0 && (step + 1) % options_.valid_every == 0));
      std::vector<NamedNumber> logged = last;
      // Outputs share their memory with the evaluation: whoever wants a tensor gets it before.
      if (ends) write_outputs();
      if (validate) {
        valid = mean_outputs(data_.valid);
        for (const auto& [name, value] : valid) logged.emplace_back("valid/" + name, value);
      }
      metrics.write(metrics_line(step + 1, logged, seconds, static_cast<double>(feed.batch()) / seconds));
      if (ends || (options_.every > 0 && (step + 1) % options_.every == 0)) save(step + 1, feed);
    }
    progress.clear();
    if (talks() && step == first && first > 0)
      std::cerr << fmt::format("nothing to do: --steps {} counts the {} done before\n", options_.steps,
                               first);
    if (talks() && step > first) {
      results() << fmt::format("step {}{}{}\n", step, last.empty() ? "" : "  ", to_text(last));
      if (!valid.empty()) report_evaluation(valid, "valid/");
      if (step < options_.steps)
        std::cerr << fmt::format("interrupted: stopped after step {} of {}{}\n", step, options_.steps,
                                 options_.checkpoint.empty() ? "" : "; --resume goes on from there");
    }
  }

  // After `step` steps, unless the run has begun there.
  void save(int64_t step, const Feed& feed) {
    if (options_.checkpoint.empty() || (data_.start && data_.start->step >= step)) return;
    save_checkpoint(executor_, options_.checkpoint,
                    {program_.model, step, data_.seed, feed.rows_before(step)}, options_.keep);
  }

  static void require_a_batch(const Feed& feed) {
    if (feed.evaluation_batches() == 0)
      throw RunError(fmt::format("the data to evaluate has too few rows for one batch of {}", feed.batch()));
  }

  // Before the first step, so that no training is lost to held-out data that doesn't fit.
  void check_valid() {
    if (data_.valid.empty()) return;
    executor_.load(evaluate_);
    require_a_batch(Feed(executor_, evaluate_, data_.valid, data_.seed));
  }

  // Means of the single-number outputs over the whole of a finite source, or over one batch.
  std::vector<NamedNumber> mean_outputs(const std::vector<InputData>& data) {
    executor_.load(evaluate_);
    Feed feed(executor_, evaluate_, data, data_.seed);
    const int64_t batches = feed.evaluation_batches().value_or(1);
    require_a_batch(feed);
    std::vector<NamedNumber> sums;
    double weights = 0;  // a batch counts by its rows
    for (int64_t batch = 0; batch < batches; ++batch) {
      const Clock::time_point start = Clock::now();
      feed.fill_evaluation(batch);
      const double filled = seconds_since(start);
      executor_.run(evaluate_, batch);
      if (&main_ == &evaluate_) times_.add(filled, seconds_since(start));
      const std::vector<NamedNumber> found = numbers(evaluate_);
      if (batch == 0) sums.resize(found.size());
      const double weight = static_cast<double>(feed.rows_present(batch)) / static_cast<double>(feed.batch());
      weights += weight;
      for (size_t i = 0; i < found.size(); ++i)
        sums[i] = {found[i].first, sums[i].second + weight * found[i].second};
    }
    for (NamedNumber& sum : sums) sum.second /= weights;
    if (feed.rows_left_out() > 0 && !told_left_out_ && talks())
      std::cerr << fmt::format(
          "evaluation goes in whole batches of {}: {} left out\n", feed.batch(),
          feed.rows_left_out() == 1 ? "1 row is" : fmt::format("{} rows are", feed.rows_left_out()));
    told_left_out_ |= feed.rows_left_out() > 0;
    return sums;
  }

  void evaluate() {
    MetricsFile metrics(options_.metrics, processes().speaks());
    const Clock::time_point start = Clock::now();
    const std::vector<NamedNumber> means = mean_outputs(data_.inputs);
    metrics.write(metrics_line(0, means, seconds_since(start), 0));
    report_evaluation(means, "");
  }

  void report_evaluation(std::vector<NamedNumber> numbers, const std::string& prefix) {
    if (!talks() || numbers.empty()) return;
    for (NamedNumber& number : numbers) number.first = prefix + number.first;
    results() << to_text(numbers) << "\n";
  }

  bool is_variable(const std::string& name) const {
    return std::any_of(program_.variables.begin(), program_.variables.end(),
                       [&](const ProgramVariable& variable) { return variable.decl.name == name; });
  }

  // Without a step there are the variables and nothing else.
  void require_step_for_outputs() const {
    for (const std::string& text : options_.outputs)
      if (const std::string name = split_assignment(text, "--output").first; !is_variable(name))
        throw RunError(
            fmt::format("there is no step to take that would make '{}' for --output (--evaluate makes it, "
                        "and a larger --steps)",
                        name));
  }

  void write_outputs() {
    if (outputs_written_) return;
    outputs_written_ = true;
    for (const std::string& text : options_.outputs) {
      const auto [name, path] = split_assignment(text, "--output");
      write_tensor(name, path);
    }
  }

  void write_tensor(const std::string& name, const std::string& path) {
    std::vector<LocalPart> parts;
    for (size_t v = 0; v < program_.variables.size(); ++v) {
      const ProgramVariable& variable = program_.variables[v];
      if (variable.decl.name != name) continue;
      for (size_t device = 0; device < executor_.devices(); ++device)
        parts.push_back(executor_.variable(v, device));
      write_array(executor_.comm(), path, npy_header(variable.decl.type), variable.sharding, parts);
      return;
    }
    for (const Binding& output : main_.outputs) {
      if (output.name != name) continue;
      for (size_t device = 0; device < executor_.devices(); ++device)
        parts.push_back(executor_.part(main_, output.value, device));
      const Value& value = main_.values[static_cast<size_t>(output.value)];
      write_array(executor_.comm(), path, npy_header(value.type), value.sharding, parts);
      return;
    }
    throw InternalError("an output was not compiled in");
  }

  void write_report() {
    if (options_.report.empty()) return;
    const std::vector<StepCount> counted = executor_.counts(main_);
    StepTimes times = timeline_.times(main_, processes());
    RunFacts facts;
    facts.arena_bytes = static_cast<int64_t>(executor_.arena_bytes());
    facts.resident_bytes = processes().maximum(proportional_memory());
    facts.ranks = processes().size();
    facts.ranks_per_node = processes().ranks_on_node();
    facts.threads_per_rank = threads();
    facts.runs = times.runs;
    facts.seconds_per_step = times_.mean(times_.total);
    facts.input_seconds = times_.mean(times_.inputs);
    facts.mean_seconds = std::move(times.mean_seconds);
    facts.max_seconds = std::move(times.max_seconds);
    if (processes().speaks())
      write_text(
          options_.report,
          run_report_json(main_, cost_report(program_, main_, predicted_counts(program_, main_), hardware_),
                          cost_report(program_, main_, counted), facts));
  }

  void write_timeline() {
    if (options_.trace.empty()) return;
    std::vector<DeviceTimeline> own;
    for (size_t device = 0; device < executor_.devices(); ++device) {
      own.push_back(timeline_.device_timeline(device));
      own.back().work.resize(program_.entry_points.size());
      for (const TimedRun& run : own.back().runs)
        if (own.back().work[run.entry].empty())
          own.back().work[run.entry] = executor_.work(program_.entry_points[run.entry], device);
    }
    const std::vector<DeviceTimeline> all = gather_timelines(std::move(own), clock_offset_, processes());
    if (processes().speaks())
      write_pieces(options_.trace, [&](const TextSink& sink) { write_trace(program_, all, sink); });
  }

  // Memory of this process in bytes, shared pages counted in parts (Pss).
  static int64_t proportional_memory() {
    std::ifstream file("/proc/self/smaps_rollup");
    for (std::string line; std::getline(file, line);)
      if (line.rfind("Pss:", 0) == 0) return std::stoll(line.substr(4)) * 1024;
    return 0;
  }

  const Program& program_;
  const RunOptions& options_;
  const Hardware* hardware_;
  RunData data_;
  Executor executor_;
  const EntryPoint* train_;
  const EntryPoint& evaluate_;
  const EntryPoint& main_;
  Timeline timeline_;
  RunTimes times_;
  int64_t clock_offset_ = 0;
  bool outputs_written_ = false;
  bool told_left_out_ = false;
};

}  // namespace

void run_program(const Program& program, const RunOptions& options, RunData data, Comm& comm,
                 const Hardware* hardware) {
  TrainingRun(program, options, std::move(data), comm, hardware).execute();
}

}  // namespace mtfc
