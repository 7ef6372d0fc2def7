#include "cmd/running/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iostream>
#include <optional>
#include <set>
#include <utility>

#include "cmd/launch/launch.h"
#include "cmd/published/run_export.h"
#include "cmd/running/checkpoints.h"
#include "cmd/running/evaluation.h"
#include "cmd/running/finite_numbers.h"
#include "cmd/running/prediction.h"
#include "cmd/running/run_figures.h"
#include "cmd/running/run_files.h"
#include "cmd/running/run_header.h"
#include "cmd/running/run_log.h"
#include "cmd/running/run_outputs.h"
#include "cmd/running/run_report.h"
#include "cmd/running/same_files.h"
#include "cmd/running/stop_agreement.h"
#include "cmd/running/token_warnings.h"
#include "cmd/terminal/interrupt.h"
#include "cmd/terminal/progress.h"
#include "formats/text/quantity.h"
#include "runtime/compute/threads.h"
#include "runtime/data/feed.h"
#include "runtime/execute/timeline.h"
#include "runtime/processes/clock_offset.h"

namespace mtfc {
namespace {

// The state of a run from its first step to its last.
struct ProgramRun {
  const RunOptions& options;
  const RunData& data;
  Executor& executor;
  const EntryPoint& main;
  const RunMeasures& measures;
  std::optional<Hardware> peaks = {};  // whose rates the MFU is of, on the rank that shows or logs it

  std::atomic<int64_t> saved =
      data.start ? data.start->step : -1;  // the step of the last checkpoint; -1: none

  Processes& processes() const { return executor.comm().processes(); }
  bool talks() const { return processes().is_root() && !options.model.quiet; }
  int64_t first_step() const { return data.start ? data.start->step : 0; }
};

// Results go to standard output, unless a file does. If both streams end at the terminal they take the way of the
// progress line, or a launcher in between could pass them on before that line is cleared.
std::ostream& results(const RunFileOptions& options) {
  return uses_standard_output(options) || (is_terminal(1) && is_terminal(2)) ? std::cerr : std::cout;
}

// `an epoch of 600 rows takes 6 steps`, or "" if data never ends.
std::string epoch_line(const Feed& feed) {
  const int64_t rows = feed.epoch_rows();
  if (rows == 0) return "";
  const double steps = static_cast<double>(rows) / static_cast<double>(feed.batch());
  const std::string text = steps < 1000 ? fmt::format("{:.4g}", steps) : grouped(std::llround(steps));
  return fmt::format("an epoch of {} rows takes {} steps\n", grouped(rows), text);
}

// Says what is about to run, and where.
void tell_beginning(const ProgramRun& run, const std::string& epoch) {
  if (!run.talks()) return;
  const Program& program = run.executor.program();
  const std::vector<int>& nodes = run.processes().nodes();
  const std::set<int> hosts(nodes.begin(), nodes.end());
  const Hardware* hardware = run.measures.hardware;
  const int64_t limit = run.options.memory_limit;
  const RunPlace place{run.processes().size(), static_cast<int64_t>(hosts.size()), threads(),
                       limit > 0  ? limit
                       : hardware ? memory_of(*hardware)
                                  : 0};
  std::cerr << run_header(program, run.main, {run.first_step(), run.options.steps, run.options.evaluate},
                          place)
            << (hardware ? threads_warning(*hardware, program.mesh(), place) : "")
            << data_line(run.main, run.data.inputs, run.options.inputs, run.data.filled) << epoch
            << random_data_warning(run.main, run.data.inputs, run.options.inputs)
            << token_warnings(run.main, run.data.inputs) << std::flush;
}

// The profile whose peak rates the MFU of the steps is of, on the rank that shows or logs the MFU. Called where other
// ranks wait for this one: if they began the first step, they would send what nobody takes.
std::optional<Hardware> peaks_of(const ProgramRun& run) {
  const bool logs = !run.options.metrics.empty() || !run.options.tensorboard.empty();
  if (!run.processes().is_root() || (run.options.model.quiet && !logs)) return std::nullopt;
  if (run.options.evaluate || run.first_step() >= run.options.steps) return std::nullopt;
  if (run.measures.hardware) return *run.measures.hardware;
  return measured_peaks(run.main, run.executor.devices());
}

void set_variables(Executor& executor, const VariableValues& values) {
  const Program& program = executor.program();
  if (values.size() < program.variables.size()) executor.run(*program.find("init"), 0);
  fill_variables(executor, values);
}

// -- evaluation --

// A model that doesn't train is measured by its evaluations.
void add_times(const ProgramRun& run, const Evaluation& evaluation, MeanRunTime& time) {
  if (&run.main != run.executor.program().find("evaluate")) return;
  for (const RunTime& batch : evaluation.times) time.add(batch);
}

// `whose` says which data it is, if it may be any but that of the run: " of --valid".
void tell_rows_left_out(const ProgramRun& run, const Evaluation& evaluation, const char* whose = "") {
  const int64_t rows = evaluation.rows_left_out;
  if (rows > 0 && run.talks())
    std::cerr << fmt::format("evaluation takes whole batches of {}: {}{} {} left out\n", evaluation.batch,
                             rows == 1 ? "1 row" : fmt::format("{} rows", rows), whose,
                             rows == 1 ? "is" : "are");
}

void require_valid_data(const ProgramRun& run) {
  if (run.data.valid.empty()) return;
  try {
    require_evaluable(run.executor, {run.data.valid, run.data.seed});
  } catch (const AgreedError&) {
    throw;
  } catch (const RunError& error) {
    throw RunError(fmt::format("--valid: {}", error.what()));
  }
}

std::string means_text(std::vector<NamedNumber> means, const std::string& prefix) {
  for (NamedNumber& mean : means) mean.first = prefix + mean.first;
  return to_text(means);
}

void tell_means(const ProgramRun& run, const std::vector<NamedNumber>& means, const std::string& prefix) {
  if (run.talks() && !means.empty()) results(run.options) << means_text(means, prefix) << "\n";
}

// Shows means over held-out data while the run goes on.
void tell_validation(const ProgramRun& run, int64_t step, const std::vector<NamedNumber>& means) {
  if (run.talks() && !means.empty())
    std::cerr << fmt::format("step {}/{}  {}\n", step, run.options.steps,
                             means_text(means, std::string(kHeldOutPrefix)))
              << std::flush;
}

// Says where the metrics of an earlier run are now.
void tell_earlier(const ProgramRun& run, const RunLog& log) {
  if (run.talks() && !log.earlier_metrics().empty())
    std::cerr << fmt::format("the metrics of an earlier run are kept as '{}'\n", log.earlier_metrics());
}

// The means, with the perplexity of a language model behind its loss, unless the model has an output of that name.
std::vector<NamedNumber> with_perplexity(const ProgramRun& run, std::vector<NamedNumber> means) {
  const std::string name = "perplexity";
  const LanguageLoss& language = run.measures.loss;
  const bool is_language =
      language.generates ||
      std::any_of(run.data.inputs.begin(), run.data.inputs.end(),
                  [](const InputData& input) { return std::holds_alternative<TokenSource>(input.source); });
  const auto named = [&](const std::string& wanted) {
    return std::find_if(means.begin(), means.end(),
                        [&](const NamedNumber& mean) { return mean.first == wanted; });
  };
  const auto loss = named(language.output);
  if (!is_language || loss == means.end() || named(name) != means.end()) return means;
  means.insert(loss + 1, {name, std::exp(to_double(loss->second))});
  return means;
}

MeanRunTime run_evaluation(const ProgramRun& run) {
  tell_beginning(run, "");
  RunLog log(run.options, run.processes().is_root(), 0);
  tell_earlier(run, log);
  const RunClock clock;
  EvaluationOutputs outputs(run.executor, run.main, run.options.outputs);
  const Evaluation evaluation = evaluate(run.executor, {run.data.inputs, run.data.seed},
                                         [&](const Feed& feed, int64_t batch) { outputs.add(feed, batch); });
  outputs.finish(evaluation.means);
  tell_rows_left_out(run, evaluation);
  StepFigures figures;
  figures.step_time = clock.seconds();
  figures.samples_per_second = static_cast<double>(evaluation.rows) / figures.step_time;
  figures.wall_time = run.measures.begin.seconds();
  log.write_evaluation(evaluation.means, figures);
  tell_means(run, with_perplexity(run, evaluation.means), "");
  MeanRunTime time;
  add_times(run, evaluation, time);
  return time;
}

// Writes the predictions for all rows of the data.
MeanRunTime run_prediction(const ProgramRun& run) {
  tell_beginning(run, "");
  if (run.talks()) std::cerr << needless_inputs(run.main, run.options.inputs);
  PredictionFile file(run.executor, run.main, *run.options.prediction);
  const Evaluation evaluation = evaluate(run.executor, {run.data.inputs, run.data.seed, true},
                                         [&](const Feed& feed, int64_t batch) { file.add(feed, batch); });
  file.finish();
  if (run.talks())
    std::cerr << fmt::format("{} written to {}\n", counted(evaluation.rows, "row"),
                             uses_standard_output(run.options)
                                 ? "standard output"
                                 : fmt::format("'{}'", run.options.prediction->file));
  MeanRunTime time;
  add_times(run, evaluation, time);
  return time;
}

// -- steps --

struct StepsTaken {
  int64_t step = 0;                 // after the last
  int signal = 0;                   // the one that has ended the run; 0: none
  std::vector<NamedNumber> last;    // outputs of the last step
  std::optional<Evaluation> valid;  // the last, over --valid
  int64_t valid_step = 0;           // the steps that were done before it
  MeanRunTime time;
  double seconds = 0;  // all steps with what was done between them
  StepWorkload work;
};

StepWorkload workload_of(const ProgramRun& run, int64_t rows, const std::optional<Hardware>& peaks) {
  StepWorkload work = workload_of(run.executor.program(), run.main, rows, peaks ? &*peaks : nullptr);
  work.peak.is_measured = !run.measures.hardware;
  if (run.measures.hardware) work.peak.profile = run.measures.hardware->name;
  return work;
}

Feed training_feed(const ProgramRun& run) {
  Feed feed(run.executor, run.main, run.data.inputs, run.data.seed);
  if (run.data.start) feed.go_on(run.data.start->step, run.data.start->rows);
  return feed;
}

Progress progress_of(const ProgramRun& run, const StepWorkload& work) {
  // Metrics on the terminal show the progress themselves.
  const bool shows_metrics = run.options.metrics == "-" && is_terminal(1);
  return Progress({run.first_step(), run.options.steps, work.rows, work.tokens, work.peak},
                  run.talks() && !shows_metrics, is_terminal(2), terminal_width());
}

// Saves the variables after `step` steps, unless the run has begun there.
void save(ProgramRun& run, int64_t step, const Feed& feed, FiniteNumbers& numbers) {
  const RunOptions& options = run.options;
  if (options.checkpoint.empty() || step <= run.saved) return;
  const InterruptHold hold;
  save_checkpoint(run.executor, options.checkpoint,
                  {run.executor.program().model, step, run.data.seed, feed.rows_before(step), run.data.sets,
                   run.data.dtype, run.executor.program().names, input_files(run.data.inputs)},
                  options.keep);
  numbers.saved(step);
  run.saved = step;
}

// SIGUSR1 has asked for a checkpoint.
void tell_saved(const ProgramRun& run, int64_t step) {
  if (!run.processes().is_root()) return;
  std::cerr << (run.options.checkpoint.empty()
                    ? std::string("mtfc: warning: SIGUSR1 saves a checkpoint, but there is no --checkpoint\n")
                    : fmt::format("mtfc: saved '{}'\n", checkpoint_path(run.options.checkpoint, step)));
}

RunTime take_step(const ProgramRun& run, Feed& feed, int64_t step) {
  const RunClock clock;
  feed.fill_training(step);
  const double filled = clock.seconds();
  run_fed(run.executor, run.main, feed, step, true);
  return {filled, clock.seconds()};
}

// True if work that is due every `every` steps (0: never) and at the end is due after `step` steps.
bool is_due(int64_t step, int64_t every, bool ends) {
  return ends || (every > 0 && step % every == 0);
}

// Evaluates over the held-out data; what it found belongs to the step's metrics.
// Returns nothing where a signal ends the run before it is done.
std::vector<NamedNumber> validate(const ProgramRun& run, int64_t step, StepsTaken& taken) {
  const bool is_first = !taken.valid;
  StopAgreement agreement(run.processes());
  Evaluation found = evaluate(run.executor, {run.data.valid, run.data.seed}, nullptr,
                              [&] { return agreement.after_step().is_late; });
  if (found.is_stopped) return {};
  taken.valid = std::move(found);
  taken.valid_step = step;
  add_times(run, *taken.valid, taken.time);
  if (is_first) tell_rows_left_out(run, *taken.valid, " of --valid");
  return taken.valid->means;
}

// The learning rate that the last step was made with, where somebody wants to know it.
std::optional<double> rate_of_step(const ProgramRun& run) {
  if (!run.processes().is_root() || (run.options.metrics.empty() && run.options.tensorboard.empty()))
    return std::nullopt;
  return learning_rate_of_last_step(run.executor, run.main);
}

// Says once, after two seconds of steps or at the end, that other work keeps the cores from the threads of this rank:
// they then wait for each other, and fewer of them may be faster.
class BusyCores {
 public:
  explicit BusyCores(const ProgramRun& run)
      : is_told_(threads() == 1 || !run.talks() || status_place(false) == StatusLine::Place::kNowhere) {}

  void after_step(Progress& progress, bool ends) {
    const double seconds = is_told_ ? 0 : clock_.seconds();
    if (seconds < (ends ? 0.2 : 2)) return;
    is_told_ = true;
    const std::optional<double> end = seconds_without_core();
    if (!begin_ || !end) return;
    const double share = (*end - *begin_) / (seconds * threads());
    if (share < kWorthSaying) return;
    progress.clear();
    std::cerr << fmt::format(
        "other work keeps the cores busy: {} threads have waited for a core for {:.0f} % of the time; "
        "--threads 1 may be faster\n",
        threads(), 100 * share);
  }

 private:
  static constexpr double kWorthSaying = 0.15;
  bool is_told_;
  std::optional<double> begin_ = seconds_without_core();
  RunClock clock_;
};

// Trains until the last step or a signal.
StepsTaken take_steps(ProgramRun& run, Feed& feed, FiniteNumbers& numbers) {
  const RunOptions& options = run.options;
  RunLog log(options, run.processes().is_root(), run.first_step());
  tell_earlier(run, log);
  StopAgreement agreement(run.processes());
  StepsTaken taken;
  taken.work = workload_of(run, feed.batch(), run.peaks);
  Progress progress = progress_of(run, taken.work);
  BusyCores cores(run);
  const RunClock clock;
  taken.step = run.first_step();
  for (bool ends = taken.step >= options.steps; !ends;) {
    const RunTime time = take_step(run, feed, taken.step);
    taken.time.add(time);
    const int64_t step = ++taken.step;
    taken.last = output_numbers(run.executor, run.main);
    progress.show(step, taken.last, taken.time.mean().total);
    cores.after_step(progress, step == options.steps);
    std::string problem = numbers.problem_of(taken.last, time.total);
    const AgreedOrders orders = agreement.after_step();
    if (step < options.steps) taken.signal = orders.signal;
    ends = orders.signal != 0 || step == options.steps;
    // Outputs share their memory with the evaluation, so tensors are written before it.
    const bool saves = is_due(step, options.every, ends || orders.saves);
    if (problem.empty() && saves) problem = numbers.problem_of_variables();
    if (ends && problem.empty()) write_outputs(run.executor, run.main, options.outputs);
    LoggedStep logged{
        step, taken.last, {}, figures_of(taken.work, time.total, rate_of_step(run), run.measures.begin)};
    const bool validates = problem.empty() && !run.data.valid.empty() &&
                           is_due(step, options.valid_every, ends && taken.signal == 0);
    if (validates) {
      logged.held_out = validate(run, step, taken);
      if (!ends) progress.clear(), tell_validation(run, step, logged.held_out);
    }
    log.write(logged);
    if (!problem.empty()) {
      progress.clear();
      numbers.fail(problem, step, feed);
    }
    if (saves) save(run, step, feed, numbers);
    if (orders.saves) tell_saved(run, step);
    // A signal that came while the checkpoint was written needs no further step, unless --output needs one: the
    // validation has overwritten the outputs of this step.
    const bool can_end = options.outputs.empty() || !validates;
    if (saves && !ends && can_end) {
      taken.signal = agreement.after_long_work();
      ends = taken.signal != 0;
      if (ends) write_outputs(run.executor, run.main, options.outputs);
    }
  }
  taken.seconds = clock.seconds();
  return taken;
}

// `100 steps in 362 ms; after the first, 3.62 ms per step, 27,600 samples/s, MFU 45.8 %`
std::string steps_summary(const ProgramRun& run, const StepsTaken& taken) {
  const double mean = std::max(taken.time.mean().total, 1e-9);
  std::string text =
      fmt::format("{} steps in {}; after the first, {} per step, {} samples/s",
                  grouped(taken.step - run.first_step()), duration_text(taken.seconds), seconds_text(mean),
                  amount_text(static_cast<double>(taken.work.rows) / mean));
  if (taken.work.tokens > taken.work.rows)
    text += fmt::format(", {} tokens/s", amount_text(static_cast<double>(taken.work.tokens) / mean));
  if (taken.work.peak.seconds <= 0) return text;
  PeakTime peak = taken.work.peak;
  // The first measurement may have met other work.
  if (peak.is_measured)
    peak = workload_of(run, taken.work.rows,
                       higher_peaks(*run.peaks, measured_peaks(run.main, run.executor.devices())))
               .peak;
  return text + ", " + mfu_text(peak, mean, taken.time.shortest());
}

void tell_steps(const ProgramRun& run, const StepsTaken& taken) {
  const int64_t first = run.first_step(), steps = run.options.steps;
  if (!run.talks()) return;
  if (taken.step == first && first > 0)
    std::cerr << fmt::format("nothing to do: --steps {} includes the {} steps done before\n", steps, first);
  if (taken.step == first) return;
  if (taken.step - first > 1) std::cerr << steps_summary(run, taken) + "\n";
  results(run.options) << fmt::format("step {}{}{}\n", taken.step, taken.last.empty() ? "" : "  ",
                                      to_text(taken.last));
  if (!taken.valid) return;
  if (taken.valid_step != taken.step && !taken.valid->means.empty())
    results(run.options) << fmt::format("held-out data at step {}: ", taken.valid_step);
  tell_means(run, taken.valid->means, std::string(kHeldOutPrefix));
}

// `the last checkpoint is 'ck/step_00000012'`
std::string saved_text(const ProgramRun& run) {
  if (run.options.checkpoint.empty()) return "nothing is saved without --checkpoint";
  if (run.saved < 0) return "no checkpoint is saved";
  return fmt::format("the last checkpoint is '{}'", checkpoint_path(run.options.checkpoint, run.saved));
}

// Whatever -q says, people should know why a run has ended, and what they have.
void tell_interrupt(const ProgramRun& run, const StepsTaken& taken) {
  InterruptGuard::told();
  if (run.processes().is_root())
    std::cerr << fmt::format("mtfc: {}: stopped after step {} of {}; {}\n", interrupted_text(taken.signal),
                             taken.step, run.options.steps, saved_text(run));
}

// The reason why a run ends that does not come to the end of its step; asked from another thread.
std::string unfinished_text(const ProgramRun& run) {
  return fmt::format("{} did not end within {} s; {}", run.executor.place_text(), run.options.grace,
                     saved_text(run));
}

MeanRunTime run_steps(ProgramRun& run, int& signal) {
  // Held-out data that doesn't fit should not cost a training.
  require_valid_data(run);
  Feed feed = training_feed(run);
  tell_beginning(run, epoch_line(feed));
  const InterruptGuard guard(static_cast<double>(run.options.grace), [&] { return unfinished_text(run); });
  const bool takes_steps = run.first_step() < run.options.steps;
  FiniteNumbers numbers(run.executor, run.options, run.first_step());
  const StepsTaken taken = take_steps(run, feed, numbers);
  if (!takes_steps) {
    require_variables(run.executor.program(), run.options.outputs);
    if (const std::string problem = numbers.problem_of_variables(); !problem.empty())
      throw AgreedError(problem + " (--nan-ok saves it all the same)");
    save(run, taken.step, feed, numbers);
  }
  tell_steps(run, taken);
  signal = taken.signal;
  if (signal != 0) tell_interrupt(run, taken);
  if (!takes_steps) write_outputs(run.executor, run.main, run.options.outputs);
  return taken.time;
}

}  // namespace

int run_program(const Program& program, const RunOptions& options, RunData data, Comm& comm,
                const RunMeasures& measures) {
  Executor executor(program, comm, {data.seed, options.check_finite});
  ProgramRun run{options, data, executor, main_entry(program, options.evaluate), measures};
  int signal = 0;
  const bool traces = !options.trace.empty(), reports = !options.report.empty();
  Timeline timeline(program, executor.devices(), traces ? options.trace_steps : 0);
  if (reports || traces) executor.record(&timeline);
  const int64_t offset = traces ? clock_offset(run.processes()) : 0;
  executor.load(run.main);
  run.peaks = peaks_of(run);
  require_same_files(run.processes(), files_of(data));
  if (run.talks()) warn_of_changed_files(data, options.inputs);
  if (const std::string gaps = gaps_text(data.gaps); run.talks() && !gaps.empty())
    std::cerr << fmt::format("--load-partly: {}\n", gaps);
  require_intact(run.processes(), data.values);
  set_variables(executor, data.values);
  data.values.clear();  // unmaps the files
  const MeanRunTime time = options.prediction ? run_prediction(run)
                           : options.evaluate ? run_evaluation(run)
                                              : run_steps(run, signal);
  if (!options.exports.target.empty() && signal == 0) {
    export_variables(executor, measures.exported);
    if (run.talks())
      std::cerr << fmt::format("exported to '{}': {}\n", options.exports.target,
                               measures.exported->summary());
  }
  if (reports)
    write_run_report(options.report, executor, {run.main, timeline, time.mean(), options.command},
                     measures.hardware);
  if (traces) write_timelines(options.trace, executor, timeline, offset);
  return signal == 0 ? kExitSuccess : interrupted_code(signal);
}

}  // namespace mtfc
