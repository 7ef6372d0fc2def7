#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <set>

#include "cmd/command.h"
#include "cmd/files/files.h"
#include "cmd/launch/launch.h"
#include "cmd/options/command_line.h"
#include "cmd/options/file_endings.h"
#include "cmd/options/option_checks.h"
#include "cmd/options/text_output.h"
#include "core/diagnostics/error.h"
#include "formats/report/runs_writer.h"

namespace mtfc {
namespace {

struct RunReportOptions {
  std::vector<std::string> metrics;
  std::vector<std::string> reports;
  std::string format;
  std::string file = "-";
  bool quiet = false;
};

std::string shown_name(const std::string& path) {
  return path == "-" ? "<stdin>" : path;
}

void check_names(const RunReportOptions& options) {
  std::set<std::string> seen;
  for (const std::string& path : options.metrics)
    if (!seen.insert(path).second)
      throw UserError(
          fmt::format("{} is given more than once", path == "-" ? "standard input" : "'" + path + "'"),
          "each file is one run");
  const size_t metrics = options.metrics.size(), reports = options.reports.size();
  if (reports > 1 && reports != metrics)
    throw UserError(fmt::format("{} --report are given for {} file{} of metrics", reports, metrics,
                                metrics == 1 ? "" : "s"),
                    "give one for each file of metrics, in the same order, or a single one");
  for (const std::string& path : options.reports) {
    if (path == "-" && seen.contains("-"))
      throw UserError("metrics and --report, or two --report, can't both be read from standard input",
                      "name a file for one of them");
    seen.insert(path);
  }
}

MetricsLog metrics_of(const std::string& path, std::vector<Diagnostic>& warnings) {
  const std::string text = read_text(path, "metrics");
  if (is_run_report(text))
    throw UserError(
        fmt::format("{} is a report of `mtfc run --report`, not a file of metrics", shown_name(path)),
        fmt::format("give it with --report, as in mtfc report METRICS.jsonl --report {}", path));
  return read_metrics(text, shown_name(path), warnings);
}

int run(const RunReportOptions& options) {
  check_names(options);
  const FileKinds kinds{"-o", "a report of runs", {{"html", "html"}, {"json", "json"}, {"txt", "text"}}};
  const std::string format = output_format(kinds, options.file, options.format, "text");
  RunsReport report;
  std::vector<Diagnostic> warnings;
  for (const std::string& path : options.metrics) report.logs.push_back(metrics_of(path, warnings));
  for (const std::string& path : options.reports)
    report.measured.push_back(read_run_report(read_text(path, "report"), shown_name(path)));
  if (!options.quiet)
    for (const Diagnostic& warning : warnings) std::cerr << to_string(warning) + "\n";
  write_text(options.file, format == "html"   ? runs_html(report)
                           : format == "json" ? runs_json(report)
                                              : runs_text(report));
  tell_written(options.file, options.quiet);
  return kExitSuccess;
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<RunReportOptions>();
  line.add_option("METRICS", options->metrics,
                  "files that `mtfc run --metrics` has written, one for each run; - is standard input")
      .required();
  line.set_group(OptionGroup::kReport);
  line.add_option(
      "--report FILE.json", options->reports,
      "the file of `mtfc run --report`: also show the times by kind of step, beside the predicted ones "
      "if that run had --hardware (repeatable: one for each file of metrics, in the same order)");
  line.set_group(OptionGroup::kOutput);
  line.add_option(
          "--format", options->format,
          "text (default on standard output and for FILE.txt), html (default for FILE.html; a page with "
          "curves) or json (default for any other file)")
      .check(one_of({"text", "html", "json"}));
  add_output_file(line, options->file);
  line.set_group(OptionGroup::kGeneral);
  line.add_flag("--quiet,-q", options->quiet, "print no warnings");
  return [options] { return run(*options); };
}

}  // namespace

const Command kReportCommand = {
    .name = "report",
    .summary = "show how runs went: their curves, their throughput, and where the time went",
    .description =
        "Shows one or several runs from the files that `mtfc run --metrics` has written: the loss and the "
        "other outputs over the steps, the learning rate, and how fast the steps were. With the file of "
        "`mtfc run --report`, it compares the measured time of each kind of step with the predicted one.",
    .examples =
        "  mtfc report log.jsonl\n"
        "  mtfc report log.jsonl --report report.json -o run.html\n"
        "  mtfc report sgd.jsonl adam.jsonl -o runs.html\n"
        "  mtfc report a.jsonl b.jsonl --report a.json --report b.json\n"
        "  mtfc report log.jsonl --format json",
    .setup = setup,
};

}  // namespace mtfc
