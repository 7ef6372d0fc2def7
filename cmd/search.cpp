#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <iostream>
#include <limits>
#include <memory>
#include <mutex>

#include "cmd/command.h"
#include "cmd/files/files.h"
#include "cmd/launch/launch.h"
#include "cmd/options/command_line.h"
#include "cmd/options/entry_choice.h"
#include "cmd/options/hardware_profile.h"
#include "cmd/options/memory_limit.h"
#include "cmd/options/model_options.h"
#include "cmd/options/option_checks.h"
#include "cmd/searching/fit.h"
#include "cmd/terminal/interrupt.h"
#include "cmd/terminal/status_line.h"
#include "core/diagnostics/parallel.h"
#include "core/diagnostics/stop.h"
#include "core/diagnostics/suggest.h"
#include "core/model/entry_points.h"
#include "core/search/layout_search.h"
#include "formats/layout/layout_reader.h"
#include "formats/layout/layout_writer.h"
#include "formats/layout/mesh_choices.h"
#include "formats/report/search_writer.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

struct Options : SearchArguments {
  std::vector<std::string> dims;
  std::string entry;
  int64_t max_axes_per_dim = 2;
  int64_t top = 5;
  bool annotations = false;    // search over annotations instead of rules
  bool fit = false;            // ask what fits, instead of searching
  bool has_most_axes = false;  // --max-axes-per-dim is given
  bool has_top = false;        // --top is given
  bool details = false;
};

// Meshes of one and of two axes, used if only the number of devices is given.
std::vector<std::string> meshes_of(int64_t devices) {
  std::vector<std::string> meshes = {fmt::format("all:{}", devices)};
  for (const std::string& mesh : mesh_choices("rows:*,cols:*", devices)) {
    const Mesh made = parse_mesh(mesh);
    if (made.size(0) > 1 && made.size(1) > 1) meshes.push_back(mesh);
  }
  return meshes;
}

// The rules to keep, on every mesh that the flags can mean.
std::vector<LayoutFlags> meshes_to_search(const Options& options) {
  const bool is_file = options.layout.layout && is_layout_file(*options.layout.layout);
  std::vector<std::string> meshes;
  if (options.layout.mesh)
    meshes = mesh_choices(*options.layout.mesh, options.devices);
  else if (options.devices && options.layout.layout)
    throw UserError("--layout needs named axes for its rules, and --devices alone names none",
                    "name them, as in --mesh rows:*,cols:*");
  else if (options.devices)
    meshes = meshes_of(*options.devices);
  else if (is_file)
    return {options.layout};
  else
    throw UserError("there is no mesh to search", "give --devices N, or --mesh, as in rows:2,cols:4");
  std::vector<LayoutFlags> flags;
  for (const std::string& mesh : meshes) flags.push_back({mesh, options.layout.layout});
  return flags;
}

void check_options(const Options& options) {
  require_one_reader(options.hardware, options.model.model, options.layout.layout);
  if (!options.file.empty() && !is_layout_file(options.file))
    throw UserError(fmt::format("the layout file '{}' must be called NAME.json", options.file),
                    "--layout reads any other name as a list of rules");
}

// The search may be restricted to dimensions that exist and are not fixed.
void check_dims(const Options& options, const Model& model, const Layout& fixed) {
  std::vector<Diagnostic> errors;
  for (const std::string& dim : options.dims)
    if (!contains(model.dims, dim))
      errors.push_back({{"--dims", 0, 0, ""},
                        fmt::format("the model has no dimension '{}'", dim),
                        did_you_mean(dim, all_names(model.dims))});
    else if (find_rule(fixed, dim))
      errors.push_back({{"--dims", 0, 0, ""},
                        fmt::format("the dimension '{}' can't be searched: --layout fixes it", dim),
                        "name it in only one of the two"});
  if (!errors.empty()) throw UserError(std::move(errors));
}

void check_fixed(const Options& options, const Model& model, const Layout& fixed) {
  check_rules(fixed, model.dims);
  if (fixed.mesh.axes().empty())
    throw UserError("the layout file has no mesh to search", "give --devices N, or --mesh");
  check_dims(options, model, fixed);
}

std::string entry_of(const Options& options, const Model& model) {
  return chosen_entry(options.entry, [&](std::string_view name) {
    return name == "train" ? has_train_entry(model) : name != "decode" || model.decode;
  });
}

std::string progress_text(const SearchOptions::Progress& progress) {
  std::string text = grouped(progress.counts.compiled) + " layouts compiled";
  text += progress.best ? ", best " + seconds_text(progress.best->step_s) : ", none fits yet";
  // The bound is of layouts that are not compiled yet. If it exceeds the best, they are looked at for the list alone.
  if (progress.best && progress.bound_s >= progress.best->step_s) return text + ", which none can beat";
  return progress.bound_s > 0 ? text + ", none below " + seconds_text(progress.bound_s) : text;
}

// The best layout so far, for the thread that ends a search which does not stop in time.
class BestSoFar {
 public:
  void set(const FoundLayout* best) {
    const std::lock_guard lock(mutex_);
    if (best)
      text_ = fmt::format("the best layout so far is {}, {} a step", layout_text(best->layout),
                          seconds_text(best->step_s));
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_ = "no layout that fits was found yet";
};

// A search that has to end may take so much longer for what gives it a result.
constexpr std::chrono::milliseconds kPatience{900};

SearchResult searched(const Options& given, const SearchOptions& search, const Model& model,
                      const std::vector<Layout>& fixed, const Hardware& hardware, BestSoFar& best_so_far) {
  StatusLine status(std::cerr, status_place(given.model.quiet));
  SearchOptions options = search;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const auto exceeds = [&, start](Clock::duration more) {
    return given.time_limit && Clock::now() - start >= std::chrono::seconds(*given.time_limit) + more;
  };
  options.stops = [exceeds] { return exceeds({}) || InterruptGuard::requested(); };
  options.is_late = [exceeds] { return exceeds(kPatience) || InterruptGuard::is_late(); };
  options.progress = [&](const SearchOptions::Progress& progress) {
    best_so_far.set(progress.best);
    status.show(progress_text(progress));
  };
  return search_layouts(model, fixed, hardware, options);
}

[[noreturn]] void refuse(const SearchResult& result, int64_t limit, bool trains, const Hardware& hardware) {
  const std::string advice = trains ? "; --fit tries microbatches, stages of ZeRO and computing again" : "";
  if (!result.is_proved) {
    std::string least;
    if (const auto& smallest = result.smallest)
      least = fmt::format(": the smallest of those tried, {}, needs {} per device",
                          layout_text(smallest->layout), bytes_beside(smallest->memory, limit));
    throw RunError(fmt::format("stopped before a layout that fits was found{}{}", least, advice));
  }
  check_invariant(result.smallest.has_value(), "a search has found nothing at all");
  const FoundLayout& smallest = *result.smallest;
  const std::string larger = larger_profiles(smallest.memory, limit, hardware);
  throw UserError(
      fmt::format("no layout fits into {} per device{}: the smallest, {}, needs {}, which is {} more",
                  memory_text(limit),
                  trains ? ", and none was found to fit by computing activations again" : "",
                  layout_text(smallest.layout), bytes_beside(smallest.memory, limit),
                  bytes_beside(smallest.memory - limit, limit)),
      fmt::format("{}{}use more devices or another --memory-limit{}", larger, larger.empty() ? "" : "; ",
                  advice));
}

// Puts the layout on fewer devices first among layouts that are equally fast, unless the user has named the mesh.
void prefer_fewer(const Options& options, const SearchOptions& search, SearchResult& result) {
  if (!result.fewer || !options.devices) return;
  result.best.insert(result.best.begin(), *result.fewer);
  if (result.best.size() > search.top) result.best.pop_back();
}

CostReport report_of(const FoundLayout& found, const Model& model, const SearchOptions& search,
                     const Hardware& hardware) {
  if (found.report) return *found.report;
  CompileOptions compiling;
  compiling.hardware = &hardware;
  compiling.allow_uneven = search.limits.allow_uneven;
  compiling.decode = search.limits.decodes;
  compiling.entries = {search.entry};
  FittedProgram made =
      compile_within(model, found.layout, compiling, found.is_fitted ? search.memory_limit : 0, hardware,
                     FitEffort::kLittle);
  const EntryPoint& entry = *made.program.find(search.entry);
  CostReport report = cost_report(made.program, entry, predicted_counts(made.program, entry), &hardware);
  report.recomputation = std::move(made.recomputation);
  return report;
}

// The reports of the best layouts. When `is_late` says so, those that follow the first and that the search has no
// report of are taken out of the result.
std::vector<ComparedLayout> reports_of(SearchResult& result, const Model& model, const SearchOptions& search,
                                       const Hardware& hardware, const std::function<bool()>& is_late) {
  std::vector<std::optional<CostReport>> made(result.best.size());
  const std::function<bool()> stops = is_late, goes_on = [] { return false; };
  each_in_parallel(made.size(), search.threads, [&](size_t i) {
    const StopScope scope(i == 0 ? goes_on : stops);
    try {
      made[i] = report_of(result.best[i], model, search, hardware);
    } catch (const Stopped&) {
      // There is no time for this report.
    }
  });
  std::vector<ComparedLayout> reports;
  std::vector<FoundLayout> best;
  for (size_t i = 0; i < made.size(); ++i) {
    if (!made[i]) continue;
    made[i]->device_memory = search.memory_limit;
    best.push_back(result.best[i]);
    reports.push_back({model.name, best.back().layout, std::move(made[i]), "", std::nullopt});
  }
  result.best = std::move(best);
  return reports;
}

std::string doc_of(const SearchReport& report) {
  const CostReport& best = *report.layouts.front().report;
  const FoundLayout& found = report.result.best.front();
  return fmt::format(
      "{} by mtfc search for {}, {}: a step of {} on {}, {} per device{}",
      report.result.is_proved ? "Found" : "Not proved to be the best, found", best.model, best.entry,
      seconds_text(best.time->step_s), best.time->hardware, bytes_in(best, found.memory),
      found.is_fitted ? fmt::format(" with --memory-limit {}", bytes_argument(report.memory_limit)) : "");
}

void write(const Options& options, const SearchReport& report, const Model& model) {
  // If the layout goes to standard output, nothing else may.
  if (options.file != "-") {
    TableOptions table;
    table.top = 0;
    table.details = options.details;
    table.width = text_width("-", table.width);
    write_text("-", options.format == "json"  ? search_json(report)
                    : options.format == "csv" ? report_csv(report.layouts, std::nullopt)
                                              : search_table(report, table));
  }
  if (!options.file.empty())
    write_text(options.file, layout_json(report.layouts.front().layout, doc_of(report), found_for(model)));
  tell_written(options.file, options.model.quiet);
}

SearchOptions search_options(const Options& options, const Model& model, const Hardware& hardware) {
  SearchOptions search;
  search.entry = entry_of(options, model);
  search.limits.dims = options.dims;
  search.limits.most_axes = options.max_axes_per_dim;
  search.limits.allow_uneven = !options.model.no_uneven;
  search.limits.decodes = search.entry == "decode";
  search.memory_limit = options.memory_limit > 0 ? options.memory_limit : memory_of(hardware);
  search.makes_fit = true;
  search.top = static_cast<size_t>(options.top);
  search.threads = thread_count(options);
  return search;
}

// Returns the exit code.
int tell_interrupt(const std::string& why) {
  InterruptGuard::told();
  std::cerr << fmt::format("mtfc: {}: {}\n", interrupted_text(InterruptGuard::signal()), why);
  return interrupted_code(InterruptGuard::signal());
}

void refuse_for_annotations(const Options& options, const Model& model) {
  const std::string decides = has_train_entry(model) ? "train" : "evaluate";
  if (!options.entry.empty() && options.entry != decides)
    throw UserError(fmt::format("--annotations can't search for {}: {} decides how variables are split",
                                options.entry, decides));
  if (options.details) throw UserError("--annotations has no --details: it finds one layout");
  if (options.format == "csv")
    throw UserError("--annotations finds one layout, which --format csv can't show", "--format json can");
}

ComparedLayout reported(const AnnotatedLayout& found, const Model& model, const Hardware& hardware) {
  const Program& program = *found.program;
  const EntryPoint& entry = *program.find(has_train_entry(model) ? "train" : "evaluate");
  const std::vector<StepCount> counts = predicted_counts(program, entry);
  ComparedLayout compared{model.name, found.layout, cost_report(program, entry, counts, &hardware), "",
                          std::nullopt};
  compared.reshards = reshard_steps(program, entry);
  return compared;
}

// Finds out when a search over annotations has to end, and says how long it has been going on.
class AnnotationWatch {
 public:
  explicit AnnotationWatch(const Options& options)
      : limit_(options.time_limit), status_(std::cerr, status_place(options.model.quiet)) {}

  void begin(const Mesh& mesh) {
    mesh_ = to_string(mesh);
    shown_ = -1;
  }
  void find(int64_t cost) {
    if (!best_ || cost < *best_) best_ = cost;
  }
  // A choice ends while there is time left to write it down as a layout, to choose the plan of that, and to compile it.
  bool stops() { return ends_within(0.6); }
  bool ends_layout() { return ends_within(0.8); }
  bool is_late() {
    show();
    return InterruptGuard::is_late() || exceeds(0.7);
  }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  void show() {
    const int64_t now = static_cast<int64_t>(seconds());
    if (now == shown_) return;
    shown_ = now;
    const std::string best = best_ ? fmt::format(", best so far: cost {}", grouped(*best_)) : "";
    status_.show(fmt::format("choosing shardings on {}{}, {} s", mesh_, best, now));
  }
  bool ends_within(double part) {
    show();
    return InterruptGuard::requested() || exceeds((part - 1) * static_cast<double>(limit_.value_or(0)));
  }
  bool exceeds(double more) const { return limit_ && seconds() >= static_cast<double>(*limit_) + more; }

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::optional<int64_t> limit_;
  StatusLine status_;
  std::string mesh_;
  std::optional<int64_t> best_;  // the least cost so far
  int64_t shown_ = -1;           // the seconds in the line
};

// The best layout of all meshes, or of those that there was time for; nothing if there was none at all.
std::optional<AnnotatedLayout> annotated(const Options& options, const Model& model,
                                         const std::vector<Layout>& fixed, AnnotationWatch& watch) {
  const CompileOptions compiling = compile_options_of(options.model);
  const OfferedAxes offered{options.dims, options.has_most_axes ? options.max_axes_per_dim : 1,
                            !options.model.no_uneven};
  const AnnotationStop stop{[&] { return watch.stops(); }, [&] { return watch.ends_layout(); },
                            [&] { return watch.is_late(); }, [&](int64_t cost) { watch.find(cost); }};
  std::optional<AnnotatedLayout> best;
  bool is_complete = true;
  int64_t bound = std::numeric_limits<int64_t>::max();  // of all meshes
  size_t looked_at = 0;
  for (const Layout& layout : fixed) {
    watch.begin(layout.mesh);
    std::optional<AnnotatedLayout> found = search_annotations(model, layout, offered, compiling, stop);
    ++looked_at;
    is_complete = is_complete && found && found->is_complete;
    bound = found ? std::min(bound, found->bound) : 0;
    if (found) watch.find(found->cost);
    if (found && (!best || found->cost < best->cost)) best = std::move(found);
    if (!is_complete) break;
  }
  if (!best) return best;
  best->is_complete = is_complete;
  best->bound = looked_at == fixed.size() ? bound : 0;
  return best;
}

// The search over annotations, on every mesh.
int run_over_annotations(const Options& options, const Model& model, const std::vector<Layout>& fixed,
                         std::vector<Diagnostic> warnings) {
  refuse_for_annotations(options, model);
  const Hardware hardware = hardware_profile(options.hardware);
  if (const auto warning = unmeasured_links_warning(hardware, fixed)) warnings.push_back(*warning);
  require_writable(options.file);
  const InterruptGuard guard(3, [] { return std::string("a search over annotations has no layout yet"); });
  std::optional<AnnotatedLayout> best;
  double seconds = 0;
  {
    AnnotationWatch watch(options);
    best = annotated(options, model, fixed, watch);
    seconds = watch.seconds();
  }
  if (!best && InterruptGuard::requested()) return tell_interrupt("no layout was found yet");
  if (!best) throw RunError("stopped before a layout was found");
  AnnotationReport report{*best, reported(*best, model, hardware), static_cast<int64_t>(fixed.size()),
                          options.has_most_axes ? options.max_axes_per_dim : 1, seconds};
  const int64_t limit = options.memory_limit > 0 ? options.memory_limit : memory_of(hardware);
  report.layout.report->device_memory = limit;
  const CostReport& cost = *report.layout.report;
  if (limit > 0 && cost.memory.peak > limit)
    warnings.push_back(plain_warning(fmt::format("the layout of least cost needs {} per device, more than {}",
                                                 bytes_beside(cost.memory.peak, limit), memory_text(limit)),
                                     "search without --annotations keeps to a limit"));
  show(warnings, options.model.quiet);
  if (options.file != "-") {
    TableOptions table;
    table.top = 0;
    table.width = text_width("-", table.width);
    write_text("-", options.format == "json" ? search_json(report) : search_table(report, table));
  }
  if (!options.file.empty())
    write_text(options.file, layout_json(best->layout,
                                         fmt::format("Found by mtfc search --annotations for {}, {}: {}",
                                                     cost.model, cost.entry, cost_text(*best)),
                                         found_for(model)));
  tell_written(options.file, options.model.quiet);
  if (InterruptGuard::requested()) return tell_interrupt(cost_text(*best));
  return kExitSuccess;
}

int ask_what_fits(const Options& options) {
  if (options.annotations) throw UserError("--fit and --annotations exclude each other");
  if (!options.entry.empty() && options.entry != "train")
    throw UserError(fmt::format("--fit asks what training needs, not {}", options.entry));
  if (options.has_top) throw UserError("--fit lists all that fits, and does not take --top");
  if (options.details) throw UserError("--fit has no --details");
  if (options.has_most_axes || !options.dims.empty())
    throw UserError(
        "--fit keeps to the rules of --layout, and does not search with --dims or --max-axes-per-dim",
        "search without --fit does");
  return run_fit(options);
}

int run(const Options& options) {
  check_options(options);
  if (options.fit) return ask_what_fits(options);
  const std::vector<Sources> sources = read_sources(options.model, meshes_to_search(options));
  std::vector<Diagnostic> warnings;
  auto [whole, fixed] = read_model_and_layouts(sources, options.model, warnings);
  check_fixed(options, whole, fixed.front());
  if (options.annotations) return run_over_annotations(options, whole, fixed, std::move(warnings));
  const Model model = reduced_to(std::move(whole), options.entry);
  // On a mesh whose axis of the batch is 1 long, no stage of ZeRO shows.
  if (!std::all_of(fixed.begin(), fixed.end(), has_plain_rules_only) || !model.annotations.empty())
    throw UserError(
        "search compares layouts of rules for all tensors, but the layout or the model has annotations, "
        "rules with \"in\" or between parts, \"propagate\", a stage of ZeRO (\"shard_state_over\", "
        "\"regather\") or \"ring\"",
        "search --annotations keeps what is there; search --fit tries stages of ZeRO; cost-report compares "
        "layouts of any kind");
  const Hardware hardware = hardware_profile(options.hardware);
  if (const auto warning = unmeasured_links_warning(hardware, fixed)) warnings.push_back(*warning);
  const SearchOptions search = search_options(options, model, hardware);
  require_writable(options.file);

  BestSoFar best_so_far;
  const InterruptGuard guard(3, [&] { return best_so_far.text(); });
  const auto start = std::chrono::steady_clock::now();
  SearchResult result = searched(options, search, model, fixed, hardware, best_so_far);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (result.best.empty() && InterruptGuard::requested()) return tell_interrupt(best_so_far.text());
  if (result.best.empty()) {
    show(warnings, options.model.quiet);
    refuse(result, search.memory_limit, search.entry == "train", hardware);
  }
  prefer_fewer(options, search, result);
  SearchReport report{result, {}, search.memory_limit, seconds.count()};
  report.layouts = reports_of(result, model, search, hardware, [&] {
    const auto limit = std::chrono::seconds(options.time_limit.value_or(0)) + kPatience;
    return InterruptGuard::is_late() ||
           (options.time_limit && std::chrono::steady_clock::now() - start > limit);
  });
  for (const std::string& warning : report.layouts.front().report->warnings)
    warnings.push_back(plain_warning(warning));
  show(warnings, options.model.quiet);
  write(options, report, model);
  if (!result.is_complete && InterruptGuard::requested()) return tell_interrupt(stop_text(result));
  if (!result.is_complete) std::cerr << fmt::format("mtfc: stopped: {}\n", stop_text(result));
  return kExitSuccess;
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<Options>();
  add_model_options(line, options->model);
  add_propagate_option(line, options->model);
  line.set_group(OptionGroup::kModel);
  line.add_option("--mesh AXIS:SIZE,...", options->layout.mesh,
                  "the mesh, as in rows:2,cols:4; rows:*,cols:* with --devices searches all sizes");
  line.add_option("--devices N", options->devices,
                  "the number of devices; without --mesh, meshes of one axis and of two axes are searched")
      .check(whole_number(1, 2147483647));
  for (const char* name : {"-n", "-np", "--np", "--ranks", "--nproc", "--gpus"})
    line.add_hint(name, "--devices VALUE");
  line.add_option("--layout DIM:AXIS,...|FILE", options->layout.layout,
                  "rules to keep, as in batch:rows, or a layout file");
  add_memory_limit(
      line, options->memory_limit,
      "the bytes per device, as in 10GiB (default: the hardware's memory): a training step that needs more "
      "computes activations again, and layouts that do not fit even so are left out");
  add_hardware_option(line, options->hardware);
  line.set_group(OptionGroup::kSearch);
  line.add_flag(
      "--annotations", options->annotations,
      "search over annotations, in which every tensor may be split in its own way, for the layout of least "
      "cost: bytes sent + 32 KiB per collective + products' FLOP / 16, per device");
  line.add_flag("--fit", options->fit,
                "instead of a search: what fits into the memory, on 1, 2, 4 and up to --devices devices, "
                "with the stages of ZeRO, with microbatches, and with activations computed again; without "
                "--layout, devices share the batch");
  line.add_option("--dims DIM,...", options->dims, "split only these dimensions, as in batch,d_ff")
      .split_at(',');
  line.add_option("--max-axes-per-dim N", options->max_axes_per_dim,
                  "the maximum number of axes over which a dimension may be split")
      .check(whole_number(1, 64))
      .show_default();
  line.add_option("--entry NAME", options->entry,
                  "entry point to optimize: train, evaluate or decode (default: train if the model has it, "
                  "else evaluate)")
      .check(one_of({"train", "evaluate", "decode"}));
  line.add_option(
          "--time-limit S", options->time_limit,
          "stop after so many seconds with the best of the layouts tried so far, which begin with plain ones "
          "such as batch over all axes, and state how much faster any other could be")
      .check(whole_number(0, 1000000000));
  line.add_option("--threads T", options->threads, "threads that compile layouts (default: one per core)")
      .check(whole_number(1, 1024));
  line.set_group(OptionGroup::kOutput);
  line.add_option("--top N", options->top, "number of layouts to show")
      .check(whole_number(1, 1000))
      .show_default();
  line.add_option("--format", options->format, "table, json or csv (one line per layout)")
      .check(one_of({"table", "json", "csv"}))
      .show_default();
  line.add_flag("--details", options->details,
                "also the totals of the layouts side by side, why the others are slower, and how many were "
                "compiled, left out or alike");
  line.add_option(
      "-o FILE.json", options->file,
      "write the best layout to this file, which --layout accepts; with --fit that of the first row, or of "
      "another number of devices by --mesh all:4 without --devices; - is standard output");
  return [options, line] {
    options->has_most_axes = line.option("--max-axes-per-dim").is_given();
    options->has_top = line.option("--top").is_given();
    return run(*options);
  };
}

}  // namespace

const Command kSearchCommand = {
    .name = "search",
    .summary = "find the layout with the shortest predicted step",
    .description =
        "Goes through all legal sets of rules, on one mesh or on all meshes of a number of devices, and "
        "finds the layout with the shortest predicted step that fits into the memory of a device. It is "
        "exact: the last sentence says what is proved, and whether fewer devices are as fast. Ctrl-C ends "
        "it with the best layouts so far.",
    .examples =
        "  mtfc search model.json --mesh rows:4,cols:4 --hardware tpu-v2 -o best.json\n"
        "  mtfc search model.json --devices 8 --details\n"
        "  mtfc search model.json --mesh all:4 --annotations -o best.json\n"
        "  mtfc search model.json --devices 512 --mesh 'rows:*,cols:*' --memory-limit 8GiB\n"
        "  mtfc search model.json --mesh rows:4,cols:4 --layout batch:rows  # keeps this rule\n"
        "  mtfc search model.json --fit --devices 64 --memory-limit 16GiB -o smallest.json\n"
        "  mtfc calibrate --mesh all:4 -o here.json && mtfc search model.json --devices 4 --hardware "
        "here.json -o best.json\n"
        "  mtfc run model.json --layout best.json",
    .setup = setup,
};

}  // namespace mtfc
