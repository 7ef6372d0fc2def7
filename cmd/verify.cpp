#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "cmd/command.h"
#include "cmd/options/command_line.h"
#include "cmd/options/model_options.h"
#include "cmd/options/option_checks.h"
#include "cmd/running/input_data.h"
#include "core/passes/pipeline.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/compute/threads.h"
#include "runtime/data/feed.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/recording.h"

namespace mtfc {
namespace {

struct Options {
  ModelOptions model;
  LayoutFlags layout;
  std::vector<std::string> inputs;
  uint64_t seed = 0;
  int64_t steps = 1;
  double tolerance = 0;  // 0: by dtype
};

// Records every tensor that the program makes in the first steps, and in an evaluation after them.
std::vector<RecordedTensor> recorded(const Program& program, const std::vector<InputData>& inputs,
                                     const Options& options) {
  Processes processes = Processes::alone();
  LockstepComm comm(program.mesh(), processes);
  Executor executor(program, comm, {options.seed, false});
  Recorder recorder(executor);
  recorder.run(*program.find("init"), 0);
  const EntryPoint* train = program.find("train");
  const EntryPoint& evaluate = *program.find("evaluate");
  const auto run = [&](const EntryPoint& entry, int64_t steps) {
    executor.load(entry);
    Feed feed(executor, entry, inputs, options.seed);
    for (int64_t step = 0; step < steps; ++step) {
      feed.fill_training(step);
      recorder.run(entry, step);
    }
  };
  if (train) run(*train, options.steps);
  run(evaluate, train ? 1 : options.steps);
  return recorder.tensors();
}

// `[batch=3, hidden=17]`
std::string place(const Dims& dims, size_t element) {
  std::string text;
  auto rest = static_cast<int64_t>(element);
  for (size_t d = dims.size(); d-- > 0;) {
    text = fmt::format("{}={}{}{}", dims[d].name, rest % dims[d].size, text.empty() ? "" : ", ", text);
    rest /= dims[d].size;
  }
  return fmt::format("[{}]", text);
}

// Reports NaNs, which a comparison can't judge.
void report_nans(const Comparison& comparison) {
  if (comparison.nans > 0)
    std::cout << fmt::format(
        "{} not a number in both runs, first in '{}'\n",
        comparison.nans == 1 ? "1 element is" : fmt::format("{} elements are", comparison.nans),
        comparison.nan_where);
}

int report(const Comparison& comparison, const Program& program, double tolerance) {
  const std::string layout = fmt::format(
      "{}, {}", program.mesh().devices() == 1 ? "one device" : "mesh " + to_string(program.mesh()),
      program.layout.rules.empty() ? "no rules" : "layout " + to_string(program.layout));
  if (!comparison.first) {
    std::cout << fmt::format("the same as on one device: {} tensors compared, {}\n", comparison.tensors,
                             layout);
    if (comparison.largest > 0)
      std::cout << fmt::format("the largest difference is {:.2g} of the largest element, in '{}'\n",
                               comparison.largest, comparison.where);
    report_nans(comparison);
    return kExitSuccess;
  }
  const Difference& first = *comparison.first;
  const RecordedTensor& tensor = *first.tensor;
  const std::string where = place(tensor.type.dims, first.element);
  std::cout << fmt::format("the first tensor that differs is '{}': {}, step {}, made by {}{}, {}\n",
                           tensor.name, tensor.entry, tensor.step + 1, tensor.operation,
                           tensor.source.empty() ? "" : " at " + tensor.source, layout);
  if (first.allowed < 0)
    std::cout << fmt::format("  at {}, devices that should agree hold different values, one of which is {}\n",
                             where, first.found);
  else
    std::cout << fmt::format("  at {} it is {}, and on one device it is {}; {} {:.2g}\n", where, first.found,
                             first.expected, tolerance > 0 ? "the tolerance allows" : "rounding explains",
                             first.allowed);
  if (!is_float(tensor.type.dtype))
    std::cout << "  (this need not be an error if rounding decides, as between two nearly equal numbers)\n";
  return kExitRunFailed;
}

int run(const Options& options) {
  const Sources sources = read_sources(options.model, options.layout);
  std::vector<Diagnostic> warnings;
  const auto [model, layouts] = read_model_and_layouts({&sources, 1}, options.model, warnings);
  CompileOptions compile_options = compile_options_of(options.model);
  compile_options.keep_all = true;
  const Program split = compile(model, layouts.front(), compile_options);
  const Program whole = compile(model, {}, compile_options);
  show(warnings, options.model.quiet);
  const std::vector<InputData> inputs = read_inputs(split, options.inputs, "--input", {});
  require_data(*split.find(split.find("train") ? "train" : "evaluate"), inputs);
  for (const ProgramVariable& variable : split.variables)
    if (!variable.decl.init)
      throw UserError(fmt::format("the variable '{}' has no \"init\"", variable.decl.name),
                      "verify starts from initial values");
  set_threads(1);
  const std::vector<RecordedTensor> expected = recorded(whole, inputs, options);
  return report(compare(expected, recorded(split, inputs, options), options.tolerance), split,
                options.tolerance);
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<Options>();
  add_model_options(line, options->model);
  add_layout_options(line, options->layout);
  line.add_option("--input", options->inputs,
                  "data for an input, as for run (default: the source that the model names)")
      .type_name("NAME=SPEC");
  line.add_option("--steps", options->steps,
                  "number of training steps, or of evaluations if the model does not train")
      .check(whole_number(1))
      .type_name("N")
      .show_default();
  line.add_option("--seed", options->seed, "seed of initial values, the order of data and random operations")
      .check(whole_number(0))
      .type_name("S")
      .show_default();
  line.add_option("--tolerance", options->tolerance,
                  "largest allowed difference of floats, relative to the largest element (default: 1e-4 for "
                  "f32, 1e-9 for f64)")
      .check(positive_number())
      .type_name("R");
  return [options] { return run(*options); };
}

}  // namespace

const Command kVerifyCommand = {
    .name = "verify",
    .summary = "run a model under a layout and on one device, and compare every tensor",
    .examples =
        "  mtfc verify model.json --mesh rows:2,cols:2 --layout batch:rows,hidden:cols\n"
        "  mtfc verify model.json --layout layout.json --steps 3 --input x=data.npy",
    .setup = setup,
};

}  // namespace mtfc
