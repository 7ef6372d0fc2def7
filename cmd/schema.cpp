#include <fmt/format.h>

#include <memory>
#include <vector>

#include "cmd/command.h"
#include "cmd/files/files.h"
#include "cmd/options/command_line.h"
#include "cmd/options/file_endings.h"
#include "cmd/options/option_checks.h"
#include "cmd/options/text_output.h"
#include "core/diagnostics/error.h"
#include "formats/program/program_writer.h"
#include "formats/reference/schema_writer.h"
#include "formats/report/check_writer.h"
#include "formats/report/difference_writer.h"
#include "formats/report/explanation_writer.h"
#include "formats/report/fit_writer.h"
#include "formats/report/generation_writer.h"
#include "formats/report/metrics_writer.h"
#include "formats/report/placement_writer.h"
#include "formats/report/report_writer.h"
#include "formats/report/search_writer.h"
#include "formats/validation/published_rows.h"
#include "formats/validation/validation_writer.h"

namespace mtfc {
namespace {

struct Schema {
  const char* name;
  const char* of;  // for --help
  std::string (*text)();
};

const Schema kSchemas[] = {
    {"model", "models", model_schema},
    {"layout", "layouts", layout_schema},
    {"hardware", "hardware profiles", hardware_schema},
    {"program", "programs that compile saves", program_schema},
    {"check", "the output of check", check_schema},
    {"diff", "the output of diff", difference_schema},
    {"explain", "the output of explain", explanation_schema},
    {"fit", "the output of search --fit", fit_schema},
    {"generate", "the output of generate", generation_schema},
    {"metrics", "a line of the metrics of run", metrics_schema},
    {"report", "the output of cost-report", report_schema},
    {"rows", "rows of published runs", rows_schema},
    {"run-report", "the report of run", run_report_schema},
    {"search", "the output of search", search_schema},
    {"show", "the output of show", placement_schema},
    {"validate", "the output of validate", validation_schema},
};

struct Options {
  std::string what = "model";
  std::string file = "-";
};

int run(const Options& options) {
  require_ending("-o", "a schema", options.file, {"json"});
  for (const Schema& schema : kSchemas)
    if (options.what == schema.name) write_text(options.file, schema.text());
  return kExitSuccess;
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<Options>();
  std::vector<std::string> names;
  std::string help = "the schema of";
  for (const Schema& schema : kSchemas) {
    help += fmt::format("{} {} ({})", names.empty() ? "" : ",", schema.of, schema.name);
    names.emplace_back(schema.name);
  }
  line.add_option("WHAT", options->what, help).check(one_of(names)).show_default();
  add_output_file(line, options->file);
  return [options] { return run(*options); };
}

}  // namespace

const Command kSchemaCommand = {
    .name = "schema",
    .summary = "print the JSON Schema of a file that mtfc reads or writes",
    .description =
        "Prints a JSON Schema (2020-12): of files that people write, by which editors complete keys, "
        "operations and attributes and mark mistakes while you type; or of files that mtfc writes, for "
        "programs that read them.",
    .examples =
        "  mtfc schema model -o model.schema.json\n"
        "  mtfc schema layout -o layout.schema.json\n"
        "  mtfc schema report -o report.schema.json",
    .setup = setup,
};

}  // namespace mtfc
