#include <memory>

#include "cmd/command.h"
#include "cmd/files/family_files.h"
#include "cmd/files/files.h"
#include "cmd/options/command_line.h"
#include "cmd/options/file_endings.h"
#include "cmd/options/text_output.h"
#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

struct Options {
  std::string config;
  std::string file = "-";
};

int run(const Options& options) {
  require_ending("-o", "a model", options.file, {"json"});
  const std::string path = model_file(options.config);
  const std::string text = read_text(path, "config.json");
  write_text(options.file, import_model(text, path == "-" ? "<stdin>" : path, family_files()));
  return kExitSuccess;
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<Options>();
  line.add_option(
          "FOLDER|CONFIG", options->config,
          "the config.json of a published model, or the folder that holds it, or - for standard input")
      .required();
  add_output_file(line, options->file);
  return [options] { return run(*options); };
}

}  // namespace

const Command kImportCommand = {
    .name = "import",
    .summary = "write a published model, given by its config.json, as a model of mtfc",
    .description =
        "A published model comes as a folder with config.json, which states its family and its sizes, and "
        "files "
        "of weights. import writes the model as a file of mtfc, to be read and changed; it needs no weights. "
        "All "
        "commands also take a config.json, or such a folder, in the place of a model, and do the same. A key "
        "of "
        "config.json that is not known is an error, because it may change the model.",
    .examples =
        "  mtfc import Llama-3.1-8B -o llama.json\n"
        "  mtfc cost-report Llama-3.1-8B/config.json --mesh data:8 --layout batch:data,zero:3\n",
    .setup = setup,
};

}  // namespace mtfc
