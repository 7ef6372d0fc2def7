#include <iostream>
#include <memory>

#include "cmd/command.h"
#include "cmd/files/files.h"
#include "cmd/options/command_line.h"
#include "cmd/options/file_endings.h"
#include "cmd/options/option_checks.h"
#include "core/diagnostics/error.h"
#include "formats/reference/schema_writer.h"

namespace mtfc {
namespace {

struct Options {
  std::string what = "model";
  std::string file = "-";
};

int run(const Options& options) {
  require_ending("-o", "a schema", options.file, {"json"});
  const std::string text = options.what == "model"    ? model_schema()
                           : options.what == "layout" ? layout_schema()
                                                      : hardware_schema();
  write_text(options.file, text);
  return kExitSuccess;
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<Options>();
  line.add_option("WHAT", options->what, "model, layout or hardware")
      .check(one_of({"model", "layout", "hardware"}))
      .show_default();
  line.set_group(OptionGroup::kOutput);
  line.add_option("-o", options->file, "output file; - is standard output").type_name("FILE").show_default();
  return [options] { return run(*options); };
}

}  // namespace

const Command kSchemaCommand = {
    .name = "schema",
    .summary = "print the JSON Schema of models, layouts or hardware profiles, for editors",
    .description =
        "Prints a JSON Schema (2020-12), by which editors complete keys, operations and attributes of a "
        "file, and mark mistakes while you type.",
    .examples =
        "  mtfc schema model -o model.schema.json\n"
        "  mtfc schema layout -o layout.schema.json",
    .setup = setup,
};

}  // namespace mtfc
