#include "cmd/running/run_command_line.h"

#include "cmd/options/hardware_profile.h"
#include "cmd/options/memory_limit.h"
#include "cmd/options/option_checks.h"
#include "cmd/options/reshard_limit.h"

namespace mtfc {
namespace {

constexpr int64_t kMostTraced = 1'000'000;
constexpr int64_t kLongestGrace = 1'000'000;

void add_seed_option(CommandLine& line, RunOptions& options) {
  line.add_option("--seed", options.seed, "seed of initial values, the order of data and random operations")
      .check(whole_number(0))
      .show_default();
}

void add_training_options(CommandLine& line, RunOptions& options) {
  line.set_group(OptionGroup::kTraining);
  line.add_option("--steps", options.steps,
                  "number of training steps, or of evaluations if the model does not train; with --resume, "
                  "it includes those of earlier runs")
      .check(whole_number(0, kMostCounted))
      .show_default();
  line.add_flag("--evaluate", options.evaluate,
                "run forward only, over all rows of a finite source, and print the means of the outputs");
  add_seed_option(line, options);
  line.add_flag("--check-finite", options.check_finite,
                "stop at the first NaN or infinity and name the operation");
  line.add_flag("--nan-ok", options.nan_ok,
                "go on, and save, although the loss or a variable is NaN or infinite, which otherwise ends "
                "the training with exit code 1");
}

void add_input_option(CommandLine& line, RunOptions& options) {
  line.set_group(OptionGroup::kData);
  line.add_option(
      "--input NAME=SPEC", options.inputs,
      "data for an input: FILE.npy, FILE.npz[,array=NAME], csv:FILE,column=NAME, jsonl:FILE,key=NAME, "
      "images:FOLDER, labels:FOLDER, idx:FILE, text:FILE[,tokenizer=FOLDER], tokens:FILE[,width=2|4], "
      "texts by lines:FILE, csv:FILE,text=NAME or jsonl:FILE,text=NAME[,answer=NAME], "
      "random:normal, random:uniform, random:int,lo=A,hi=B, present, or of:INPUT[,part=PART][,shift=N]; "
      "files may "
      "be followed by "
      ",rows=A:B, text and tokens also by ,shift=N and ,split=train|valid, and numbers "
      "by ,scale=X (`mtfc help data`); present is a mask with 1 or true for the rows of a batch that come "
      "from the "
      "data, and 0 or false for those that fill up the last batch of an evaluation");
  line.add_option("--tokenizer FILE|FOLDER", options.tokenizer,
                  "the tokenizer.json or tokenizer.model of texts whose source names none (default: that in "
                  "the folder of a published "
                  "model, or none, and the tokens of a text are its bytes)");
  for (const char* name : {"--data", "--dataset"})
    line.add_hint(name, "data are given by input: --input NAME=FILE");
}

void add_data_options(CommandLine& line, RunOptions& options) {
  add_input_option(line, options);
  for (const char* name : {"--epochs", "--epoch"})
    line.add_hint(name, "training is counted in steps: --steps N");
  line.add_option("--valid NAME=SPEC", options.valid,
                  "data of an input, as for --input, on which the model is also evaluated");
  line.add_option("--valid-every N", options.valid_every,
                  "evaluate on the data of --valid every N steps, not only at the end")
      .check(whole_number(1));
}

void add_weight_options(CommandLine& line, RunOptions& options) {
  line.set_group(OptionGroup::kData);
  line.add_option("--load FILE", options.loads,
                  "values that replace the initial ones: those of all variables from a .safetensors file or "
                  "a folder of checkpoints (the last one), or those of one variable with NAME=FILE.npy");
  line.add_flag(
      "--load-partly", options.partly,
      "variables that the files of --load lack keep their initial values, and tensors for which there is "
      "no variable are left out; the run says which these are");
  line.add_option("--map FROM=TO", options.maps,
                  "rename the tensors of a loaded file to the model's names; * matches any characters but . "
                  "and /, and an empty TO leaves a tensor out; a FILE may hold such patterns, one per line");
}

void add_checkpoint_options(CommandLine& line, RunOptions& options) {
  line.set_group(OptionGroup::kCheckpoints);
  line.add_option(
      "--checkpoint DIR", options.checkpoint,
      "save all variables in this folder after the last step, on Ctrl-C and SIGTERM, and, without "
      "ending, on SIGUSR1");
  line.add_option("--every N", options.every, "also save after every N steps").check(whole_number(1));
  line.add_option("--grace S", options.grace,
                  "after Ctrl-C or SIGTERM, which end the run with exit code 130 or 143, wait up to S "
                  "seconds for the end of the step, to save a checkpoint")
      .check(whole_number(1, kLongestGrace))
      .show_default();
  line.add_option("--keep K", options.keep, "keep only the last K checkpoints").check(whole_number(1));
  line.add_option("--restarts N", options.restarts,
                  "if the run fails, start it again from its last checkpoint, at most N times; hosts of "
                  "--hosts that do not answer are left out, and if the others have too little room, the "
                  "axis of the mesh that loses the fewest devices is shortened")
      .check(whole_number(0, kMostCounted));
  line.add_flag("--resume", options.resume,
                "continue from the last checkpoint in the folder, with any mesh and layout; if there is "
                "none, start from the beginning");
}

void add_file_options(CommandLine& line, RunOptions& options) {
  line.set_group(OptionGroup::kOutput);
  line.add_option(
      "--output NAME=FILE.npy", options.outputs,
      "write a tensor after the last step, or the rows of all batches of an evaluation; - is standard "
      "output");
  add_export_options(line, "--export", options.exports);
  line.add_option(
      "--metrics FILE.jsonl", options.metrics,
      "write a line of JSON per step: outputs, time, samples and tokens per second, MFU, learning "
      "rate; - is standard output; `mtfc report` draws it");
  line.add_option("--tensorboard DIR", options.tensorboard,
                  "write the same numbers as events for TensorBoard into this folder");
  line.add_hint("--json",
                "outputs of every step: --metrics FILE.jsonl; counts and predictions: --report FILE.json");
  line.add_option("--report FILE.json", options.report,
                  "write the counted flops, collectives and memory beside the predicted ones, and the time "
                  "per step; - is standard output");
  line.add_option("--trace FILE.json", options.trace,
                  "write a timeline of all ranks, for Perfetto or Chrome; - is standard output");
  line.add_option("--trace-steps N", options.trace_steps,
                  "keep the last N training steps and the last N evaluations in --trace")
      .check(whole_number(1, kMostTraced))
      .show_default();
}

void add_limits(CommandLine& line, RunOptions& options) {
  add_hardware_option(line, options.hardware);
  add_memory_limit(line, options.memory_limit);
  add_reshard_limit(line, options.reshard_limit);
}

}  // namespace

void add_run_options(CommandLine& line, RunOptions& options) {
  add_model_and_layout(line, options.model, options.layout, true);
  add_execution_options(line, options);
  add_training_options(line, options);
  add_data_options(line, options);
  add_weight_options(line, options);
  add_checkpoint_options(line, options);
  add_file_options(line, options);
  add_limits(line, options);
}

void add_prediction_options(CommandLine& line, RunOptions& options) {
  Prediction& prediction = *options.prediction;
  add_model_and_layout(line, options.model, options.layout, true);
  add_execution_options(line, options);
  line.set_group(OptionGroup::kTraining);
  add_seed_option(line, options);
  add_input_option(line, options);
  add_weight_options(line, options);
  line.set_group(OptionGroup::kOutput);
  line.add_option(
          "-o FILE", prediction.file,
          "write the rows to FILE.csv, with a line for each and one with the names of the columns, or "
          "to FILE.npy; - is standard output")
      .show_default();
  line.add_option("--format", prediction.format, "csv or npy, if the name of the file does not say it")
      .check(one_of({"csv", "npy"}));
  line.add_option("--output-tensor NAME", prediction.tensors,
                  "a tensor of the model with a row for each row of data (repeatable; default: the outputs "
                  "of the model that have rows)");
  line.add_hint("--output", "the file is given by -o FILE, and the tensor by --output-tensor NAME");
}

void note_given(const CommandLine& line, RunOptions& options) {
  options.trace_steps_given = line.option("--trace-steps").is_given();
  options.steps_given = line.option("--steps").is_given();
  options.seed_given = line.option("--seed").is_given();
}

}  // namespace mtfc
