#include <memory>

#include "cmd/command.h"
#include "cmd/running/run_command_line.h"
#include "cmd/running/run_data.h"
#include "cmd/running/run_preparation.h"
#include "cmd/running/same_files.h"
#include "cmd/running/training.h"

namespace mtfc {

namespace {

int predict(const RunOptions& options) {
  start_for_runs();
  const RunClock begin;
  check(options);
  RunPreparation preparation(options);
  RunData data;
  Execution execution;
  execution.defaults = [&] { return preparation.defaults(); };
  execution.compile = [&](const Sources& sources, std::vector<Diagnostic>& warnings) {
    return preparation.compile(sources, warnings);
  };
  execution.require_ready = [&](const Program& program) { preparation.require_ready(program); };
  execution.open = [&](const Program& program, const std::string&) {
    data = open_data(program, options, "");
    std::vector<std::string> read = options.maps;
    for (const FileSample& file : files_of(data)) read.push_back(file.path);
    require_unread(options, read);
  };
  execution.run = [&](const Program& program, Comm& comm) {
    return run_program(program, options, std::move(data), comm, {preparation.hardware(), begin});
  };
  return execute(options, execution);
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<RunOptions>();
  options->evaluate = true;
  options->prediction.emplace();
  add_prediction_options(line, *options);
  return [options] { return predict(*options); };
}

}  // namespace

const Command kPredictCommand = {
    .name = "predict",
    .summary = "compute a tensor for each row of data, and write the rows",
    .description =
        "Evaluates the model over all rows of the data of --input, and writes the rows of the outputs that "
        "have one for each, or of the tensors of --output-tensor, in the order of the data. Only inputs that "
        "these depend on need data. The rows do not depend on the layout.",
    .examples =
        "  mtfc predict mnist.json --load ck --input images=test.npy --output-tensor logits -o logits.npy\n"
        "  mtfc predict model.json --load ck --input x=x.npy -o predictions.csv\n"
        "  mtfc predict model.json --load ck --input x=x.npy --mesh all:4 --layout batch:all -o y.npy",
    .setup = setup,
};

}  // namespace mtfc
