#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include "cmd/command.h"
#include "cmd/files/files.h"
#include "cmd/options/command_line.h"
#include "cmd/options/hardware_profile.h"
#include "cmd/options/memory_limit.h"
#include "cmd/options/option_checks.h"
#include "cmd/options/reshard_limit.h"
#include "cmd/running/checkpoints.h"
#include "cmd/running/input_data.h"
#include "cmd/running/run_data.h"
#include "cmd/running/run_files.h"
#include "cmd/running/run_options.h"
#include "cmd/running/stored_settings.h"
#include "cmd/running/training.h"
#include "core/cost/cost.h"
#include "formats/program/program_reader.h"

namespace mtfc {

namespace {

constexpr int64_t kMostTraced = 1'000'000;
constexpr int64_t kLongestGrace = 1'000'000;

// Returns a saved program unchanged, or compiles a model for the layout.
Program program_of(const Sources& sources, const RunOptions& options, const Hardware* hardware,
                   std::vector<Diagnostic>& warnings) {
  CompileOptions compile_options = compile_options_of(options.model);
  compile_options.hardware = hardware;
  if (hardware && options.report.empty() && is_program(sources.model_text))
    throw UserError(fmt::format("--hardware can't change the plan of {}, which is a compiled program",
                                options.model.model),
                    "compile it with --hardware, or give --report FILE for predicted times");
  for (const std::string& output : options.outputs)
    compile_options.keep.push_back(split_assignment(output, "--output").first);
  const auto within_limit = [&](const Model& model, const Layout& layout) {
    FittedProgram fitted = compile_within(model, layout, compile_options, options.memory_limit, hardware);
    require_fits(fitted, options.memory_limit);
    for (Diagnostic& note : limit_notes(fitted, options.memory_limit)) warnings.push_back(std::move(note));
    return std::move(fitted.program);
  };
  Program program = make_program(sources, options.model, compile_options, warnings, within_limit);
  require_fits(program, options.memory_limit);
  require_small_reshards(program, options.reshard_limit);
  return program;
}

// Locks the folder of checkpoints if the options name one, and returns where the run begins: at a checkpoint,
// or "" for the beginning.
std::string take_folder(const RunOptions& options, std::optional<CheckpointFolder>& folder) {
  if (options.checkpoint.empty()) return "";
  folder.emplace(options.checkpoint);
  const std::string start = folder->start(options.resume);
  if (options.resume && !options.model.quiet)
    std::cerr << (start.empty()
                      ? fmt::format("no checkpoint in '{}' yet: the run starts from the beginning\n",
                                    options.checkpoint)
                      : fmt::format("continuing from '{}'\n", start));
  return start;
}

// Throws UserError if a profile lacks something that the program needs, or is of no use.
void check_hardware(const RunOptions& options, const Program& program, const Hardware& hardware) {
  const EntryPoint& entry = main_entry(program, options.evaluate);
  if (options.report.empty() && !entry.plan)
    throw UserError("--hardware is of no use: the layout leaves no plan to choose, and there is no --report",
                    "give --propagate, or --report FILE for predicted times beside those of the run");
  predicted_time(program, entry, predicted_counts(program, entry), hardware);
}

// An evaluation of values that nobody has trained is rarely meant.
void warn_of_initial_values(const RunOptions& options, const Program& program) {
  const bool has_weights =
      std::any_of(program.variables.begin(), program.variables.end(),
                  [](const ProgramVariable& variable) { return variable.decl.trainable; });
  if (options.evaluate && options.loads.empty() && has_weights && !options.model.quiet)
    std::cerr << fmt::format(
        "mtfc: warning: there is no --load, so the variables have their initial values for --seed {}\n",
        options.seed);
}

int run(const RunOptions& options) {
  limit_spinning();
  check(options);
  RunData data;
  std::optional<CheckpointFolder> folder;
  std::optional<Hardware> hardware;
  std::vector<std::string> sets;
  std::optional<std::string> dtype;
  std::optional<StoredSettings> stored;
  const auto continues = [&] {
    return options.resume && stored && stored->checkpoint.starts_with(options.checkpoint + "/");
  };
  Execution execution;
  execution.hardware = options.hardware;
  execution.defaults = [&] {
    std::vector<std::string> paths = options.loads;
    if (options.resume) paths.insert(paths.begin(), options.checkpoint);
    stored = stored_settings(paths);
    if (!stored) return Defaults();
    // Weights that are only loaded have no precision of their own: a run that begins may choose another.
    return Defaults{stored->notes.sets, continues() ? stored->notes.dtype : std::nullopt};
  };
  execution.compile = [&](const Sources& sources, std::vector<Diagnostic>& warnings) {
    sets = all_settings(sources.defaults.sets, options.model.sets);
    dtype = dtype_of(sources, options.model);
    if (!options.hardware.empty()) hardware = parsed_profile(options.hardware, sources.hardware_text);
    return program_of(sources, options, hardware ? &*hardware : nullptr, warnings);
  };
  execution.require_ready = [&](const Program& program) {
    require_writable_files(options);
    require_metrics(options, main_entry(program, options.evaluate));
    if (hardware) check_hardware(options, program, *hardware);
    warn_of_initial_values(options, program);
    std::set<std::string> folders(options.loads.begin(), options.loads.end());
    if (!options.checkpoint.empty()) folders.insert(options.checkpoint);
    if (!options.model.quiet)
      for (const std::string& path : folders) warn_of_incomplete(path);
    if (stored && !options.model.quiet) tell_settings(*stored, options.model, program, continues());
  };
  execution.prepare = [&] { return take_folder(options, folder); };
  execution.open = [&](const Program& program, const std::string& start) {
    data = open_data(program, options, start);
    data.sets = sets;
    data.dtype = dtype;
  };
  execution.run = [&](const Program& program, Comm& comm) {
    return run_program(program, options, std::move(data), comm, hardware ? &*hardware : nullptr);
  };
  return execute(options, execution);
}

void add_run_options(CommandLine& line, RunOptions& options) {
  line.add_option("--steps", options.steps,
                  "number of training steps, or of evaluations if the model does not train; with --resume, "
                  "it includes those of earlier runs")
      .check(whole_number(0, kMostCounted))
      .show_default();
  line.add_flag("--evaluate", options.evaluate,
                "run forward only, over all rows of a finite source, and print the means of the outputs");
  line.add_option(
          "--input", options.inputs,
          "data for an input: FILE.npy, idx:FILE[.gz], text:FILE, tokens:FILE[,width=2|4], "
          "random:normal, random:uniform, random:int,lo=A,hi=B, or present; files may be followed by "
          ",rows=A:B, text and tokens also by ,shift=N and ,split=train|valid, and all sources except "
          "present by ,scale=X; present is a mask with 1 or true for the rows of a batch that come from the "
          "data, and 0 or false for those that fill up the last batch of an evaluation")
      .type_name("NAME=SPEC");
  line.add_option("--valid", options.valid,
                  "data of an input, as for --input, on which the model is also evaluated")
      .type_name("NAME=SPEC");
  line.add_option("--valid-every", options.valid_every,
                  "evaluate on the data of --valid every N steps, not only at the end")
      .check(whole_number(1))
      .type_name("N");
  line.add_option("--seed", options.seed, "seed of initial values, the order of data and random operations")
      .check(whole_number(0))
      .show_default();
  line.add_option("--load", options.loads,
                  "values that replace the initial ones: those of all variables from a .safetensors file or "
                  "a folder of checkpoints (the last one), or those of one variable with NAME=FILE.npy")
      .type_name("FILE");
  line.add_option("--map", options.maps,
                  "rename the tensors of a loaded file to the model's names; * matches any characters but . "
                  "and /, and an empty TO leaves a tensor out; a FILE may hold such patterns, one per line")
      .type_name("FROM=TO");
  line.add_option(
          "--checkpoint", options.checkpoint,
          "save all variables in this folder after the last step, on Ctrl-C and SIGTERM, and, without "
          "ending, on SIGUSR1")
      .type_name("DIR");
  line.add_option("--every", options.every, "also save after every N steps")
      .check(whole_number(1))
      .type_name("N");
  line.add_option("--grace", options.grace,
                  "after Ctrl-C or SIGTERM, which end the run with exit code 130 or 143, wait up to S "
                  "seconds for the end of the step, to save a checkpoint")
      .check(whole_number(1, kLongestGrace))
      .type_name("S")
      .show_default();
  line.add_option("--keep", options.keep, "keep only the last K checkpoints")
      .check(whole_number(1))
      .type_name("K");
  line.add_flag("--resume", options.resume,
                "continue from the last checkpoint in the folder, with any mesh and layout; if there is "
                "none, start from the beginning");
  line.add_option(
          "--output", options.outputs,
          "write a tensor after the last step, or the rows of all batches of an evaluation; - is standard "
          "output")
      .type_name("NAME=FILE.npy");
  line.add_option("--metrics", options.metrics,
                  "write a line of JSON per step: outputs, time, samples per second; - is standard output")
      .type_name("FILE.jsonl");
  line.add_option("--report", options.report,
                  "write the counted flops, collectives and memory beside the predicted ones, and the time "
                  "per step; - is standard output")
      .type_name("FILE.json");
  add_hardware_option(line, options.hardware);
  line.add_option("--trace", options.trace,
                  "write a timeline of all ranks, for Perfetto or Chrome; - is standard output")
      .type_name("FILE.json");
  line.add_option("--trace-steps", options.trace_steps,
                  "keep the last N training steps and the last N evaluations in --trace")
      .check(whole_number(1, kMostTraced))
      .type_name("N")
      .show_default();
  line.add_flag("--check-finite", options.check_finite,
                "stop at the first NaN or infinity and name the operation");
  line.add_flag("--nan-ok", options.nan_ok,
                "go on, and save, although the loss or a variable is NaN or infinite, which otherwise ends "
                "the training with exit code 1");
  add_memory_limit(line, options.memory_limit);
  add_reshard_limit(line, options.reshard_limit);
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<RunOptions>();
  add_model_options(line, options->model, true);
  add_layout_options(line, options->layout);
  add_propagate_option(line, options->model);
  add_execution_options(line, *options);
  add_run_options(line, *options);
  return [options, steps = line.option("--steps"), seed = line.option("--seed")] {
    options->steps_given = steps.is_given();
    options->seed_given = seed.is_given();
    return run(*options);
  };
}

}  // namespace

const Command kRunCommand = {
    .name = "run",
    .summary = "train or evaluate a model, alone or under mpiexec",
    .examples =
        "  mtfc run model.json --steps 100\n"
        "  mtfc run model.json --mesh all:4 --layout batch:all --steps 100 --metrics log.jsonl\n"
        "  mtfc run model.json --mesh rows:8,cols:8 --layout layout.json --simulate\n"
        "  mtfc run mnist.json --input images=idx:images.gz,rows=0:9000 --input "
        "labels=idx:labels.gz,rows=0:9000 --steps 900\n"
        "  mtfc run model.json --steps 1000 --checkpoint ck --every 100 --keep 3 --resume\n"
        "  mtfc run model.json --evaluate --load ck\n"
        "  mtfc run model.json --steps 20 --report report.json --hardware box.json\n"
        "  mpiexec -n 4 mtfc run model.json --mesh rows:2,cols:2 --layout batch:rows,hidden:cols",
    .setup = setup,
};

}  // namespace mtfc
