#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <optional>

#include "cmd/batch/batch_file.h"
#include "cmd/command.h"
#include "cmd/running/checkpoints.h"
#include "cmd/running/run_command_line.h"
#include "cmd/running/run_data.h"
#include "cmd/running/run_preparation.h"
#include "cmd/running/same_files.h"
#include "cmd/running/training.h"

namespace mtfc {

namespace {

// Locks the folder of checkpoints if the options name one, and returns where the run begins: at a checkpoint,
// or "" for the beginning.
std::string take_folder(const RunOptions& options, std::optional<CheckpointFolder>& folder) {
  if (options.checkpoint.empty()) return "";
  folder.emplace(options.checkpoint);
  const std::string start = checkpoint_start(options.checkpoint, options.resume);
  if (options.resume && !options.model.quiet)
    std::cerr << (start.empty()
                      ? fmt::format("no checkpoint in '{}' yet: the run starts from the beginning\n",
                                    options.checkpoint)
                      : fmt::format("continuing from '{}'\n", start));
  return start;
}

int run(const RunOptions& options) {
  start_for_runs();
  const RunClock begin;
  check(options);
  RunPreparation preparation(options);
  RunData data;
  std::optional<CheckpointFolder> folder;
  Execution execution;
  execution.hardware = options.hardware;
  execution.defaults = [&] { return preparation.defaults(); };
  execution.compile = [&](const Sources& sources, std::vector<Diagnostic>& warnings) {
    return preparation.compile(sources, warnings);
  };
  execution.require_ready = [&](const Program& program) { preparation.require_ready(program); };
  execution.prepare = [&] { return take_folder(options, folder); };
  execution.open = [&](const Program& program, const std::string& start) {
    data = open_data(program, options, start);
    std::vector<std::string> read = options.maps;
    for (const FileSample& file : files_of(data)) read.push_back(file.path);
    require_unread(options, read);
    data.sets = preparation.sets();
    data.dtype = preparation.dtype();
  };
  execution.run = [&](const Program& program, Comm& comm) {
    return run_program(program, options, std::move(data), comm,
                       {preparation.hardware(), begin, preparation.loss(), preparation.exported()});
  };
  return execute(options, execution);
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<RunOptions>();
  add_run_options(line, *options);
  return [options, line] {
    note_given(line, *options);
    options->command = "mtfc run";
    for (const std::string& word : line.given()) options->command += " " + shell_word(word);
    return run(*options);
  };
}

}  // namespace

const Command kRunCommand = {
    .name = "run",
    .summary = "train or evaluate a model, alone or under mpiexec",
    .description =
        "Trains a model, or with --evaluate evaluates it. Unless a launcher has started it, it starts a rank "
        "for each device of the mesh by itself. Results do not depend on the layout. SIGINT and SIGTERM end "
        "the run; with --checkpoint it is saved before, and can go on from there with any layout.",
    .examples =
        "  mtfc run model.json --steps 100\n"
        "  mtfc run model.json --mesh all:4 --layout batch:all --steps 100 --metrics log.jsonl\n"
        "  mtfc run model.json --mesh rows:8,cols:8 --layout layout.json --simulate\n"
        "  mtfc run mnist.json --input images=idx:images.gz,rows=0:9000 --input "
        "labels=idx:labels.gz,rows=0:9000 --steps 900\n"
        "  mtfc run model.json --steps 1000 --checkpoint ck --every 100 --keep 3 --resume\n"
        "  mtfc run model.json --steps 1000 --tensorboard logs/run1\n"
        "  mtfc run model.json --evaluate --load ck\n"
        "  mtfc run model.json --steps 20 --report report.json --hardware box.json\n"
        "  mpiexec -n 4 mtfc run model.json --mesh rows:2,cols:2 --layout batch:rows,hidden:cols",
    .setup = setup,
};

}  // namespace mtfc
