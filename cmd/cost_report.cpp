#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <set>
#include <thread>

#include "cmd/batch/batch_file.h"
#include "cmd/command.h"
#include "cmd/files/files.h"
#include "cmd/launch/launch.h"
#include "cmd/options/command_line.h"
#include "cmd/options/entry_choice.h"
#include "cmd/options/file_endings.h"
#include "cmd/options/hardware_profile.h"
#include "cmd/options/layout_warnings.h"
#include "cmd/options/memory_limit.h"
#include "cmd/options/model_options.h"
#include "cmd/options/option_checks.h"
#include "cmd/options/reshard_limit.h"
#include "cmd/options/text_output.h"
#include "cmd/options/version.h"
#include "cmd/terminal/color.h"
#include "cmd/terminal/work_watch.h"
#include "core/cost/comparison.h"
#include "core/cost/cost.h"
#include "core/diagnostics/parallel.h"
#include "core/model/entry_points.h"
#include "core/program/node_traffic.h"
#include "formats/layout/mesh_choices.h"
#include "formats/program/program_reader.h"
#include "formats/report/pareto_picture.h"
#include "formats/report/report_writer.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

constexpr size_t kRowsOfPage = 300;
constexpr size_t kMostAdvised = 6;  // layouts about which advice is shown

struct Options {
  ModelOptions model;
  std::vector<std::string> meshes;
  std::vector<std::string> layouts;
  std::string entry;
  std::string format;
  std::string hardware = kInventedProfile;
  bool pareto = false;              // only layouts that no other one dominates
  bool plans_for_hardware = false;  // it is given, so plans are chosen for it
  std::string file = "-";
  std::optional<int64_t> devices;
  std::optional<int64_t> top;
  std::optional<int64_t> parts;
  std::optional<int64_t> ranks_per_node;
  TrainingPlan training;
  int64_t memory_limit = 0;   // bytes per device; 0: none
  int64_t reshard_limit = 0;  // likewise
  std::string command;        // as a page states it
  std::string denied;         // "warnings", or ""
};

// Pairs meshes with layouts; a list of one is shared.
std::vector<LayoutFlags> paired(const Options& options) {
  const size_t meshes = options.meshes.size(), layouts = options.layouts.size();
  const size_t count = std::max<size_t>({meshes, layouts, 1});
  if (meshes > 1 && layouts > 1 && meshes != layouts)
    throw UserError(fmt::format("{} --mesh and {} --layout can't be combined", meshes, layouts),
                    "give the same number of both, or only one --mesh or one --layout");
  std::vector<LayoutFlags> flags(count);
  for (size_t i = 0; i < count; ++i) {
    if (meshes > 0) flags[i].mesh = options.meshes[meshes == 1 ? 0 : i];
    if (layouts > 0) flags[i].layout = options.layouts[layouts == 1 ? 0 : i];
  }
  return flags;
}

// Replaces every mesh with open sizes by all meshes that it can mean.
std::vector<LayoutFlags> swept(const Options& options) {
  const bool open = options.devices.has_value();
  if (open && options.meshes.empty()) throw UserError("--devices needs a mesh", "as in --mesh rows:*,cols:*");
  std::vector<LayoutFlags> all;
  for (const LayoutFlags& flags : paired(options)) {
    if (!flags.mesh) {
      all.push_back(flags);
      continue;
    }
    for (const std::string& mesh : mesh_choices(*flags.mesh, options.devices))
      all.push_back({mesh, flags.layout});
  }
  return all;
}

// The devices that share a node, or 0 if neither an option nor the hardware says so.
int64_t ranks_per_node(const Options& options, const Hardware& hardware) {
  if (options.ranks_per_node) return *options.ranks_per_node;
  return hardware.topology == Topology::kTwoLevel ? hardware.devices_per_node : 0;
}

// A mesh of more devices than this gets no count of the bytes between its nodes, since each device is looked at.
constexpr int64_t kMostOnNodes = 65'536;

// Adds the report of `program`, its collectives, and a better order of its ranks if there is one.
void report(const Options& options, const Program& program, const Hardware& hardware,
            ComparedLayout& layout) {
  const EntryPoint& entry = chosen_entry(options.entry, program);
  const std::vector<StepCount> counts = predicted_counts(program, entry);
  layout.report = cost_report(program, entry, counts, &hardware);
  const int64_t per_node = ranks_per_node(options, hardware), devices = program.mesh().devices();
  if (per_node > 0 && devices <= kMostOnNodes)
    add_node_traffic(program, entry, consecutive_nodes(devices, per_node), *layout.report);
  layout.report->training = training_cost(program, *layout.report, options.training);
  if (!layout.report->training && options.training.tokens)
    throw UserError(fmt::format("--tokens asks what training takes, and '{}' is no training step with tokens",
                                entry.name));
  if (options.memory_limit > 0) layout.report->device_memory = options.memory_limit;
  layout.order = propose_device_order(program, entry, counts, hardware);
  layout.reshards = reshard_steps(program, entry);
}

std::string reason_of(const UserError& error) {
  std::string text;
  for (const Diagnostic& diagnostic : error.diagnostics())
    text += (text.empty() ? "" : "; ") + diagnostic.message;
  return text;
}

// Layouts with their reports, and advice about each of them.
struct AdvisedLayouts {
  std::vector<ComparedLayout> layouts;
  std::vector<std::vector<Diagnostic>> advice;  // as many as layouts
};

// Adds advice to what the report of a layout says.
void add_advice(const std::vector<Diagnostic>& advice, CostReport& report) {
  for (const Diagnostic& warning : advice)
    report.warnings.push_back(warning.hint.empty() ? warning.message
                                                   : fmt::format("{} ({})", warning.message, warning.hint));
}

// Adds the advice to the warnings that are shown, unless there are many layouts. Mere notes are shown of a single
// layout.
void show_advice(AdvisedLayouts& made, std::vector<Diagnostic>& warnings) {
  const size_t count = made.layouts.size();
  if (count > kMostAdvised) return;
  for (size_t i = 0; i < count; ++i)
    for (Diagnostic& warning : made.advice[i]) {
      if (count > 1 && warning.severity == Severity::kNote) continue;
      if (count > 1) warning.message = fmt::format("[{}] {}", number_of(made.layouts, i), warning.message);
      warnings.push_back(std::move(warning));
    }
}

// The model under each layout. If there are several, an illegal one is part of the result, unless all are
// illegal.
AdvisedLayouts compared(const Options& options, const Hardware& hardware, const Model& whole,
                        const std::vector<Layout>& layouts, std::vector<Diagnostic>& warnings) {
  const Model model = reduced_to(whole, options.entry);
  CompileOptions compile_options = compile_options_of(options.model);
  compile_options.decode = is_for_generation(options.entry);
  if (options.plans_for_hardware) compile_options.hardware = &hardware;
  for (const Layout& layout : layouts) check_rules(layout, model.dims);
  AdvisedLayouts advised;
  std::vector<ComparedLayout>& made = advised.layouts;
  std::vector<Diagnostic> errors;
  for (const Layout& layout : layouts) {
    made.push_back({model.name, layout, {}, {}, {}});
    std::vector<Diagnostic>& advice = advised.advice.emplace_back();
    std::optional<Program> program;
    std::optional<Recomputation> recomputation;
    try {
      FittedProgram fitted = compile_within(model, layout, compile_options, options.memory_limit, &hardware);
      require_fits(fitted, options.memory_limit);
      if (layouts.size() == 1)
        for (Diagnostic& note : limit_notes(fitted, options.memory_limit))
          warnings.push_back(std::move(note));
      recomputation = std::move(fitted.recomputation);
      program = std::move(fitted.program);
      require_small_reshards(*program, options.reshard_limit);
    } catch (const UserError& error) {
      made.back().reason = reason_of(error);
      for (const Diagnostic& diagnostic : error.diagnostics()) errors.push_back(diagnostic);
      continue;
    }
    for (const std::string& warning : program->warnings) warnings.push_back(plain_warning(warning));
    report(options, *program, hardware, made.back());
    if (made.back().report->entry == "train") made.back().report->recomputation = std::move(recomputation);
    // Which tensor could be gathered less is advice for the layout that one has, not for a choice among many.
    const int64_t memory = made.back().report->device_memory;
    advice = layouts.size() == 1
                 ? layout_warnings({model, layout, compile_options, *program, memory}, options.entry)
                 : waste_warnings(*program, chosen_entry(options.entry, *program), memory);
    add_advice(advice, *made.back().report);
  }
  if (possible(made).empty()) throw UserError(std::move(errors));
  return advised;
}

void drop_repeated(std::vector<Diagnostic>& warnings) {
  std::set<std::string> said;
  std::erase_if(warnings, [&](const Diagnostic& warning) { return !said.insert(to_string(warning)).second; });
}

// Drops the layouts that another one dominates. Those that are left keep their numbers.
void keep_pareto(AdvisedLayouts& made, std::vector<Diagnostic>& warnings) {
  std::vector<size_t> front = pareto_front(made.layouts);
  std::sort(front.begin(), front.end());
  AdvisedLayouts kept;
  for (const size_t index : front) {
    kept.layouts.push_back(std::move(made.layouts[index]));
    kept.layouts.back().number = index + 1;
    kept.advice.push_back(std::move(made.advice[index]));
  }
  if (kept.layouts.size() < made.layouts.size())
    warnings.push_back(plain_note(
        fmt::format("{} of {} layouts are shown, by the numbers in which they were given: no other has as "
                    "short a step, as little memory and as few devices (differences count however small)",
                    kept.layouts.size(), made.layouts.size())));
  made = std::move(kept);
}

// Adds it to the report of each layout for which the profile has no measured links, and once to the warnings that are
// shown.
void warn_of_links(const Hardware& hardware, AdvisedLayouts& made, std::vector<Diagnostic>& warnings) {
  bool is_shown = false;
  for (ComparedLayout& layout : made.layouts) {
    const std::optional<Diagnostic> warning = unmeasured_links_warning(hardware, layout.layout.mesh);
    if (!warning || !layout.report) continue;
    add_advice({*warning}, *layout.report);
    if (!is_shown) warnings.push_back(*warning);
    is_shown = true;
  }
}

// Says of layouts on very large meshes that the bytes between their nodes are not counted.
void warn_of_nodes(const Options& options, const Hardware& hardware, AdvisedLayouts& made,
                   std::vector<Diagnostic>& warnings) {
  if (ranks_per_node(options, hardware) == 0) return;
  for (ComparedLayout& layout : made.layouts) {
    if (!layout.report || layout.layout.mesh.devices() <= kMostOnNodes) continue;
    const Diagnostic note = plain_note(fmt::format(
        "what nodes send to each other is not counted: {} has {} devices, more than {}",
        to_string(layout.layout.mesh), grouped(layout.layout.mesh.devices()), grouped(kMostOnNodes)));
    add_advice({note}, *layout.report);
    warnings.push_back(note);
  }
}

// Warns of layouts that do not fit: of one with what it lacks, of several together with how many they are.
void warn_of_excess(const Hardware& hardware, const std::vector<ComparedLayout>& layouts,
                    std::vector<Diagnostic>& warnings) {
  std::optional<Diagnostic> smallest;
  int64_t least = 0;
  size_t count = 0;
  for (const ComparedLayout& layout : layouts) {
    if (!layout.report || excess_memory(*layout.report) == 0) continue;
    ++count;
    const CostReport& report = *layout.report;
    if (smallest && report.memory.peak >= least) continue;
    least = report.memory.peak;
    smallest = too_large_warning(report.memory.peak, report.device_memory, hardware);
  }
  if (!smallest) return;
  if (layouts.size() > 1)
    smallest->message = fmt::format(
        "{} of {} layouts {} not fit; of these, {}", count, layouts.size(), count == 1 ? "does" : "do",
        "the smallest" + smallest->message.substr(smallest->message.find(" needs")));
  warnings.push_back(*std::move(smallest));
}

struct JudgedLayouts {
  std::vector<ComparedLayout> layouts;
  bool is_denied = false;  // there are warnings, which are denied
};

// The reports of a saved program, or of the model under each layout.
JudgedLayouts reports(const Options& options, const Hardware& hardware) {
  const std::vector<Sources> sources = read_sources(options.model, swept(options));
  std::vector<Diagnostic> warnings;
  AdvisedLayouts made;
  if (is_program(sources.front().model_text)) {
    const Program program = make_program(sources.front(), options.model, {}, warnings);
    require_fits(program, options.memory_limit);
    for (const std::string& warning : program.warnings) warnings.push_back(plain_warning(warning));
    made.layouts.push_back({program.model, program.layout, {}, {}, {}});
    report(options, program, hardware, made.layouts.back());
    made.advice.push_back(waste_warnings(program, chosen_entry(options.entry, program),
                                         made.layouts.back().report->device_memory));
    add_advice(made.advice.back(), *made.layouts.back().report);
  } else {
    const auto [model, layouts] = read_model_and_layouts(sources, options.model, warnings);
    made = compared(options, hardware, model, layouts, warnings);
    if (options.pareto) keep_pareto(made, warnings);
  }
  warn_of_links(hardware, made, warnings);
  warn_of_nodes(options, hardware, made, warnings);
  warn_of_excess(hardware, made.layouts, warnings);
  show_advice(made, warnings);
  drop_repeated(warnings);
  const bool is_denied = deny(options.denied, warnings);
  show(warnings, options.model.quiet && !is_denied);
  return {std::move(made.layouts), is_denied};
}

std::string format_of(const Options& options) {
  const FileKinds kinds{
      "-o", "a cost report", {{"json", "json"}, {"csv", "csv"}, {"html", "html"}, {"txt", "table"}}};
  return output_format(kinds, options.file, options.format, "table");
}

std::string page_of(const std::vector<ComparedLayout>& layouts, const Options& options,
                    const Hardware& hardware) {
  PageOptions page;
  page.top = options.top ? static_cast<size_t>(*options.top) : kRowsOfPage;
  if (options.parts) page.parts = static_cast<size_t>(*options.parts);
  page.ranks_per_node = ranks_per_node(options, hardware);
  page.origin = {options.command, version_text(), options.model.sets, hardware};
  return report_html(layouts, page);
}

// The command that makes a page of the same figures, whatever file this one goes to.
std::string command_of(const CommandLine& line) {
  std::string command = "mtfc cost-report";
  for (const std::string& word : line.given({"-o", "--format", "--quiet", "--no-color"}))
    command += " " + shell_word(word);
  return command + " -o report.html";
}

int run(const Options& options) {
  const WorkWatch watch(std::cerr, status_place(options.model.quiet));
  const ThreadScope threads(std::thread::hardware_concurrency());
  for (const LayoutFlags& flags : paired(options))
    require_one_reader(options.hardware, options.model.model, flags.layout);
  const std::string format = format_of(options);
  if (options.training.price_per_hour && !options.training.tokens)
    throw UserError("--price needs the number of tokens", "give --tokens, as in --tokens 20e9");
  if (options.top && format == "json")
    throw UserError("--top is for tables; the JSON has every step", "leave out --top, or --format json");
  if (options.parts && format != "table" && format != "html")
    throw UserError("--parts is for tables and pages; the JSON has the times of every step",
                    "leave out --parts, or --format " + format);
  const Hardware hardware = hardware_profile(options.hardware);
  const auto [layouts, is_denied] = reports(options, hardware);
  TableOptions table;
  table.color = options.file == "-" && has_colors(1);
  if (options.top) table.top = static_cast<size_t>(*options.top);
  if (options.parts) table.parts = static_cast<size_t>(*options.parts);
  table.width = text_width(options.file, table.width);
  const std::optional<size_t> top = options.top ? std::optional(table.top) : std::nullopt;
  const std::string picture = options.pareto ? pareto_picture(layouts, table.width) : "";
  write_text(options.file, format == "table"  ? report_table(layouts, table) + picture
                           : format == "csv"  ? report_csv(layouts, top)
                           : format == "html" ? page_of(layouts, options, hardware)
                                              : report_json(layouts));
  tell_written(options.file, options.model.quiet);
  return is_denied ? kExitUserError : kExitSuccess;
}

// Replaces `2.1/h` by the number. Returns "" or what is wrong with it.
std::string read_price(std::string& text) {
  std::string number = text.ends_with("/h") ? text.substr(0, text.size() - 2) : text;
  const std::string mistake = positive_number().problem(number);
  if (!mistake.empty())
    return fmt::format("expected a price above 0 for an hour, as in 2.1/h, found '{}'", text);
  text = number;
  return "";
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<Options>();
  add_model_options(line, options->model, true);
  line.set_group(OptionGroup::kModel);
  line.add_option(
      "--mesh AXIS:SIZE,...", options->meshes,
      "the mesh, as in rows:2,cols:4 (repeat to compare); rows:*,cols:* with --devices tries all sizes");
  line.add_option(
      "--layout DIM:AXIS,...|FILE", options->layouts,
      "rules, as in batch:rows, also with zero:3 or propagate among them; or a layout file (repeat to "
      "compare)");
  line.add_option("--devices N", options->devices,
                  "the number of devices of a mesh whose sizes are left open")
      .check(whole_number(1, 2147483647));
  add_plan_options(line, options->model);
  add_memory_limit(line, options->memory_limit);
  add_reshard_limit(line, options->reshard_limit);
  add_hardware_option(line, options->hardware);
  line.set_group(OptionGroup::kReport);
  line.add_option(
          "--top N", options->top,
          "for one layout, the number of steps and of tensors alive at the memory peak to list "
          "(default: 10); for html, the rows of each long table (default: 300); for csv, print a line for "
          "each of the N costliest steps of each layout")
      .check(whole_number(0));
  line.add_option(
          "--parts N", options->parts,
          "for one layout, also list the predicted time of each block down to the depth N of its scope, "
          "beside the least at peak rates; repeated blocks are added up (default: 3 in a page, else none)")
      .check(whole_number(1));
  line.add_flag(
      "--pareto", options->pareto,
      "of several layouts, show only those that no other one beats in step time, memory and number of "
      "devices together, and below the table draw them by time and memory");
  add_entry_option(line, options->entry, "report");
  line.add_option(
          "--ranks-per-node N", options->ranks_per_node,
          "also predict the bytes between nodes of N consecutive ranks each (default: as the hardware says)")
      .check(whole_number(1));
  line.add_option("--tokens N", options->training.tokens,
                  "the tokens to train on, as in 20e9: also predict the steps, the time and the device hours")
      .check(positive_number());
  line.add_option(
          "--price X/h", options->training.price_per_hour,
          "the price of a device for an hour, as in 2.1/h: with --tokens, also predict the price of training")
      .transform(read_price);
  line.set_group(OptionGroup::kOutput);
  line.add_option(
          "--format", options->format,
          "table (default on standard output and for FILE.txt), json (default for any other file), csv "
          "(default for FILE.csv; one line per layout) or html (default for FILE.html; a page with "
          "pictures)")
      .check(one_of({"table", "json", "csv", "html"}));
  add_output_file(line, options->file);
  add_deny_option(line, options->denied);
  return [options, line] {
    options->plans_for_hardware = line.option("--hardware").is_given();
    options->command = command_of(line);
    return run(*options);
  };
}

}  // namespace

const Command kCostReportCommand = {
    .name = "cost-report",
    .summary = "predict arithmetic, communication, memory and time per device",
    .description =
        "Predicts the time of a step, the arithmetic, the bytes of each collective and mesh axis, and the "
        "memory of a device. It needs no cluster. With several --mesh or --layout, layouts are compared side "
        "by side, the best one first: that with the shortest step among those that fit into memory. mtfc "
        "help rows says what the rows mean.",
    .examples =
        "  mtfc cost-report model.json --mesh all:4 --layout batch:all\n"
        "  mtfc cost-report model.json --mesh all:4 --layout batch:all --layout hidden:all\n"
        "  mtfc cost-report model.json --mesh all:8 --layout batch:all --layout batch:all,zero:1 --layout "
        "batch:all,zero:3 --hardware h100\n"
        "  mtfc cost-report model.json --mesh rows:4,cols:4 --layout batch:rows --hardware tpu-v2\n"
        "  mtfc cost-report model.json --mesh all:8 --layout batch:all --hardware h100 --tokens 20e9 --price "
        "2.1/h\n"
        "  mtfc cost-report model.json --layout layout.json --format json -o report.json\n"
        "  mtfc cost-report model.json --layout layout.json --hardware tpu-v3 --parts 3\n"
        "  mtfc cost-report model.json --mesh all:8 --layout batch:all --ranks-per-node 4\n"
        "  mtfc cost-report model.json --devices 64 --mesh 'rows:*,cols:*' --layout batch:rows,hidden:cols\n"
        "  mtfc cost-report model.json --mesh all:4 --layout batch:all --layout hidden:all -o report.html\n"
        "  mtfc cost-report model.json --devices 64 --mesh 'rows:*,cols:*' --layout batch:rows,hidden:cols "
        "--pareto -o report.html\n"
        "  mtfc compile model.json --layout layout.json -o program.json && mtfc cost-report program.json",
    .setup = setup,
};

}  // namespace mtfc
