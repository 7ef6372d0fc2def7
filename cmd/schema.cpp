#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cmd/command.h"
#include "cmd/files/files.h"
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
  const std::string text = options.what == "model"    ? model_schema()
                           : options.what == "layout" ? layout_schema()
                                                      : hardware_schema();
  write_text(options.file, text);
  return kExitSuccess;
}

std::function<int()> setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("WHAT", options->what, "model, layout or hardware")
      ->check(one_of({"model", "layout", "hardware"}))
      ->capture_default_str();
  app.add_option("-o", options->file, "where to; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  return [options] { return run(*options); };
}

}  // namespace

const Command kSchemaCommand = {
    .name = "schema",
    .summary = "JSON Schema of models, layouts or hardware profiles, for editors",
    .examples =
        "  mtfc schema model -o model.schema.json\n"
        "  mtfc schema layout -o layout.schema.json",
    .setup = setup,
};

}  // namespace mtfc
