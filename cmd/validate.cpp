#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <thread>

#include "cmd/batch/batch_file.h"
#include "cmd/command.h"
#include "cmd/files/files.h"
#include "cmd/launch/launch.h"
#include "cmd/options/command_line.h"
#include "cmd/options/file_endings.h"
#include "cmd/options/option_checks.h"
#include "cmd/options/text_output.h"
#include "cmd/terminal/work_watch.h"
#include "cmd/validating/profile_fit.h"
#include "cmd/validating/row_predictions.h"
#include "core/diagnostics/parallel.h"
#include "formats/validation/validation_writer.h"

namespace mtfc {
namespace {

struct Options {
  std::vector<std::string> files;
  std::vector<std::string> hardware;
  std::vector<std::string> only;
  std::vector<std::string> bars;
  std::string sample;
  int64_t worst = 10;
  std::vector<std::string> fit;  // numbers of a profile
  std::string on;
  std::string format;
  std::vector<std::string> files_out;
  std::string command;  // as a page states it
  bool quiet = false;
};

// Every M-th row, from the N-th on.
struct Sample {
  int64_t first = 1, of = 1;
};

Sample parse_sample(const std::string& text) {
  Sample sample;
  if (text.empty()) return sample;
  const size_t slash = text.find('/');
  const auto number = [&](const std::string& part) {
    return part.empty() || part.size() > 9 || part.find_first_not_of("0123456789") != std::string::npos
               ? int64_t{0}
               : static_cast<int64_t>(std::stoll(part));
  };
  if (slash != std::string::npos) sample = {number(text.substr(0, slash)), number(text.substr(slash + 1))};
  if (slash == std::string::npos || sample.first < 1 || sample.of < sample.first)
    throw UserError(fmt::format("--sample: '{}' is not of the form N/M with N from 1 to M", text),
                    "1/10 takes every tenth row, from the first on");
  return sample;
}

std::vector<PublishedRow> chosen_rows(const Options& options) {
  std::vector<RowFilter> filters;
  for (const std::string& text : options.only) filters.push_back(parse_row_filter(text, "--only"));
  const Sample sample = parse_sample(options.sample);
  std::vector<PublishedRow> chosen;
  int64_t number = 0;
  for (const std::string& file : options.files)
    for (PublishedRow& row : read_published_rows(open_data_file(file))) {
      const auto holds = [&](const RowFilter& filter) { return filter.matches(row); };
      if (!std::all_of(filters.begin(), filters.end(), holds)) continue;
      if (++number % sample.of == sample.first % sample.of) chosen.push_back(std::move(row));
    }
  if (chosen.empty())
    throw UserError("no row is left to be predicted",
                    options.only.empty() ? "" : "--only takes the rows whose columns have these values");
  return chosen;
}

const FileKinds kKinds{"-o", "a validation", {{"json", "json"}, {"html", "html"}, {"txt", "text"}}};

// A file to write, and what it holds: text, json, html, or the profile that has been fitted.
struct Target {
  std::string file;
  std::string format;
};

std::vector<Target> targets_of(const Options& options) {
  std::vector<Target> targets;
  for (const std::string& file : options.files_out) {
    const std::string named = format_of_file(kKinds, file);
    const bool is_profile = !options.fit.empty() && file.ends_with(".json");
    targets.push_back({file, is_profile      ? "profile"
                             : named.empty() ? output_format(kKinds, file, options.format, "text")
                                             : named});
  }
  const auto is_report = [](const Target& target) { return target.format != "profile"; };
  if (std::none_of(targets.begin(), targets.end(), is_report))
    targets.push_back({"-", options.format.empty() ? "text" : options.format});
  for (const Target& target : targets)
    if (target.file != "-") require_writable(target.file);
  return targets;
}

void check_fit(const Options& options) {
  if (options.fit.empty() == options.on.empty()) return;
  throw UserError(
      options.on.empty() ? "--fit needs rows to fit on" : "--on names rows to fit on, and nothing is fitted",
      options.on.empty() ? "as in --on split=train" : "give --fit, as in --fit step_overhead_s");
}

int run(const Options& options) {
  const WorkWatch watch(std::cerr, status_place(options.quiet));
  const ThreadScope threads(std::thread::hardware_concurrency());
  check_fit(options);
  const std::vector<Target> targets = targets_of(options);
  std::vector<ErrorBar> bars;
  for (const std::string& text : options.bars) bars.push_back(parse_error_bar(text));
  RowProfiles profiles(options.hardware);
  RowPredictions predictions(chosen_rows(options), profiles);
  FittedProfile fitted;
  if (options.fit.empty())
    predictions.predict();
  else
    fitted = fit_profile(predictions, profiles, {options.fit, options.on});
  ValidationReport report{predictions.results(),
                          validation_scores(predictions.results(), static_cast<size_t>(options.worst))};
  if (!options.fit.empty()) report.fit = fitted.summary;
  report.command = options.command;
  bool is_missed = false;
  for (ErrorBar& bar : bars) {
    measure(bar, report.scores);
    is_missed = is_missed || bar.is_missed();
  }
  report.bars = bars;
  for (const auto& [file, format] : targets) {
    write_text(file, format == "json"      ? validation_json(report)
                     : format == "html"    ? validation_html(report)
                     : format == "profile" ? fitted.text
                                           : validation_text(report, text_width(file, 100)));
    tell_written(file, options.quiet);
  }
  return is_missed ? kExitRunFailed : kExitSuccess;
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<Options>();
  line.add_option("ROWS.csv", options->files, "files of rows (mtfc schema rows names the columns)")
      .required();
  line.set_group(OptionGroup::kModel);
  line.add_option(
      "--hardware PROFILE|NAME=PROFILE", options->hardware,
      "the profile, bundled or a file, of all rows, or of those whose hardware is NAME (repeatable; "
      "default: the bundled profile that a row names)");
  line.add_option("--only COLUMN=VALUE", options->only,
                  "only the rows whose column has the value, which may be a pattern of the shell, as in "
                  "'mesh=*model:[1248]' "
                  "(repeatable)");
  line.add_option("--sample N/M", options->sample, "only every M-th row, from the N-th on, as in 1/10");
  line.set_group(OptionGroup::kReport);
  line.add_option(
      "--bar SOURCE=PERCENT", options->bars,
      "the mean error of step times that a source may have at most; SOURCE.median for the median, "
      "SOURCE.memory for memory, all=PERCENT for all sources. If one is missed, the exit code is 1 "
      "(repeatable)");
  line.add_option("--worst N", options->worst, "the number of rows that err most to list")
      .check(whole_number(0))
      .show_default();
  line.add_option("--fit KEY,...", options->fit,
                  "fit up to 7 numbers of the rows' profile, by their paths in it, such as step_overhead_s, "
                  "efficiency/einsum or axes/*/latency_s, to the step times of the rows of --on; -o "
                  "FILE.json is then "
                  "the profile")
      .split_at(',');
  line.add_option("--on COLUMN=VALUE", options->on, "the rows to fit on, as in split=train");
  line.set_group(OptionGroup::kOutput);
  line.add_option("--format", options->format,
                  "of standard output and of files whose names have no ending: text, json or html")
      .check(one_of({"text", "json", "html"}));
  line.add_option("-o FILE", options->files_out, "the file to write (repeatable; default: standard output)");
  line.add_flag("--quiet,-q", options->quiet, "print no progress");
  return [options, line] {
    options->command = "mtfc validate";
    for (const std::string& word : line.given({"-o", "--format", "--quiet", "--no-color"}))
      options->command += " " + shell_word(word);
    return run(*options);
  };
}

}  // namespace

const Command kValidateCommand = {
    .name = "validate",
    .summary = "compare predictions with training runs that others have published",
    .description =
        "Reads rows of published runs, predicts the time of a step and the memory of a device of each as "
        "cost-report "
        "does, and says how far the predictions are from what was measured: by source, by efficiency, in the "
        "choice among layouts, and in what fits. Rows that need a feature that mtfc lacks are refused by the "
        "name of "
        "the feature. Stages of pipelines are priced from outside: as shares of one program, put together by "
        "arithmetic.",
    .examples =
        "  mtfc validate testdata/published/*.csv\n"
        "  mtfc validate testdata/published/vtrain.csv --bar vtrain=7 --bar vtrain.median=3\n"
        "  mtfc validate testdata/published/*.csv --hardware h100=mine.json --only hardware=h100 -o "
        "page.html\n"
        "  mtfc validate testdata/published/*.csv --sample 1/10 --format json\n"
        "  mtfc validate testdata/published/vtrain.csv --fit step_overhead_s,efficiency/einsum --on "
        "split=train -o "
        "fitted.json -o page.html",
    .setup = setup,
};

}  // namespace mtfc
