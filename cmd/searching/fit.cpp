#include "cmd/searching/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <mutex>
#include <set>
#include <thread>

#include "cmd/batch/batch_file.h"
#include "cmd/files/files.h"
#include "cmd/launch/launch.h"
#include "cmd/terminal/interrupt.h"
#include "cmd/terminal/status_line.h"
#include "core/diagnostics/printable.h"
#include "core/model/zero_stage.h"
#include "core/search/fit_search.h"
#include "formats/layout/layout_reader.h"
#include "formats/layout/layout_writer.h"
#include "formats/layout/mesh_choices.h"
#include "formats/report/fit_writer.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

// The product of the sizes that a mesh states, as 6 of data:*,model:6.
int64_t stated_size(const std::string& mesh) {
  std::string closed = mesh;
  std::replace(closed.begin(), closed.end(), '*', '1');
  return parse_mesh(closed).devices();
}

// `least` times the powers of two, up to `most`, and `most` itself.
std::vector<int64_t> device_counts(int64_t least, int64_t most) {
  std::vector<int64_t> counts;
  for (int64_t count = least; count < most; count *= 2) counts.push_back(count);
  counts.push_back(most);
  return counts;
}

// Meshes that are the same but for axes of size 1 are tried once.
std::string without_ones(const std::string& mesh) {
  std::string text;
  const Mesh parsed = parse_mesh(mesh);
  for (const auto& axis : parsed.axes())
    if (axis.size > 1) text += fmt::format("{},", axis.size);
  return text;
}

// The meshes to try. Numbers of devices that a mesh with open sizes can't have are left out, unless it can have none.
std::vector<LayoutFlags> meshes_to_fit(const SearchArguments& arguments) {
  const auto &mesh = arguments.layout.mesh, &layout = arguments.layout.layout;
  const bool is_file = layout && is_layout_file(*layout);
  if (!mesh && is_file && arguments.devices)
    throw UserError("the layout file has a mesh of its own, which --devices can't change",
                    "give --mesh with sizes that are open, as in --mesh 'rows:*'");
  if (!mesh && is_file) return {arguments.layout};
  if (!mesh && layout)
    throw UserError("--layout needs named axes for its rules, and --devices alone names none",
                    "name them, as in --mesh rows:*");
  if (!mesh && !arguments.devices)
    throw UserError("--fit needs the number of devices that there may be", "give --devices N");
  if (mesh && (mesh->find('*') == std::string::npos || !arguments.devices)) {
    mesh_choices(*mesh, arguments.devices);  // says what is wrong with the number of devices
    return {arguments.layout};
  }
  const std::string open = mesh.value_or("all:*");
  std::vector<LayoutFlags> flags;
  std::set<std::string> known;
  std::optional<UserError> failure;
  for (const int64_t count : device_counts(stated_size(open), *arguments.devices)) try {
      for (const std::string& choice : mesh_choices(open, count))
        if (layout || known.insert(without_ones(choice)).second) flags.push_back({choice, layout});
    } catch (const UserError& error) {
      failure = error;
    }
  if (flags.empty()) throw UserError(*failure);
  return flags;
}

// Without rules, devices share the batch. Meshes of more devices than it has rows are left out.
void share_batch(const SearchArguments& arguments, const Model& model, std::vector<Layout>& layouts,
                 std::vector<Diagnostic>& warnings) {
  if (arguments.layout.layout) return;
  const std::optional<Dim> batch = batch_dim(model);
  if (!batch)
    throw UserError("no input has a dimension that devices could share",
                    "give the rules with --mesh and --layout");
  const size_t given = layouts.size();
  std::erase_if(layouts, [&](const Layout& layout) { return layout.mesh.devices() > batch->size; });
  const std::string rows = fmt::format("{} row{}", batch->size, batch->size == 1 ? "" : "s");
  if (layouts.empty())
    throw UserError(fmt::format("the devices would share '{}', which has only {}", batch->name, rows),
                    "give rules that split other dimensions, with --mesh and --layout");
  if (layouts.size() < given)
    warnings.push_back(
        plain_warning(fmt::format("meshes of more devices are left out: '{}' has only {}", batch->name, rows),
                      "give rules that split other dimensions, with --mesh and --layout"));
  for (Layout& layout : layouts) {
    AxisList axes;
    for (int axis = 0; axis < static_cast<int>(layout.mesh.axes().size()); ++axis) axes.push_back(axis);
    if (!axes.empty()) layout.rules.push_back({batch->name, axes, {}});
  }
}

int64_t limit_of(const SearchArguments& arguments, const Hardware& hardware) {
  if (arguments.memory_limit > 0) return arguments.memory_limit;
  if (const int64_t memory = memory_of(hardware); memory > 0) return memory;
  throw UserError(
      fmt::format("the hardware profile '{}' does not say how much memory a device has", hardware.name),
      "give --memory-limit, as in 16GiB");
}

// The combinations that fit so far, for the thread that ends a search which does not stop in time.
class FitsSoFar {
 public:
  explicit FitsSoFar(int64_t limit) : limit_(limit) {}
  void add(const FitTrial& trial) {
    const std::lock_guard lock(mutex_);
    const auto key = [](const FitTrial& one) { return std::pair(one.layout.mesh.devices(), one.step_s); };
    if (!best_ || key(trial) < key(*best_)) best_ = trial;
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    if (!best_) return "nothing that fits was found yet";
    return fmt::format("so far, a step of {} fits on {}: {}{}, {}", seconds_text(best_->step_s),
                       counted(best_->layout.mesh.devices(), "device"),
                       best_->stage ? fmt::format("ZeRO stage {}, ", *best_->stage) : "",
                       bytes_beside(best_->memory, limit_), counted(best_->microbatches, "microbatch", "es"));
  }

 private:
  const int64_t limit_;
  std::mutex mutex_;
  std::optional<FitTrial> best_;
};

FitResult found(const SearchArguments& arguments, const Model& model, const std::vector<Layout>& layouts,
                const Hardware& hardware, const FitOptions& given, FitsSoFar& so_far) {
  StatusLine status(std::cerr, status_place(arguments.model.quiet));
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  FitOptions options = given;
  options.stops = [&] {
    const bool is_late =
        arguments.time_limit && Clock::now() - start >= std::chrono::seconds(*arguments.time_limit);
    return is_late || InterruptGuard::requested();
  };
  options.progress = [&](const FitOptions::Progress& progress) {
    if (progress.last.memory <= options.memory_limit) so_far.add(progress.last);
    status.show(fmt::format("{} tried; {} of {} combinations of a mesh and a stage of ZeRO done",
                            counted(progress.trials, "training step"), progress.done, progress.all));
  };
  return find_fits(model, layouts, hardware, options);
}

// The options with which `mtfc run` does what the trial did.
std::string run_options(const SearchArguments& arguments, const FitTrial& fit, int64_t limit) {
  std::string text = "--layout " + (arguments.file == "-" ? "FILE" : shell_word(arguments.file));
  for (const std::string& set : arguments.model.sets) text += " --set " + shell_word(set);
  if (arguments.model.optimizer) text += " --optimizer " + *arguments.model.optimizer;
  if (arguments.model.dtype) text += " --dtype " + *arguments.model.dtype;
  if (arguments.model.propagate) text += " --propagate";
  if (fit.microbatches > 1) text += fmt::format(" --microbatches {}", fit.microbatches);
  if (fit.recomputation || fit.turned > 0 || fit.scatters)
    text += fmt::format(" --memory-limit {}", bytes_argument(limit));
  return text;
}

// Says which row the file has, and how to get the layout of another one.
std::string written_text(const SearchArguments& arguments, const FitReport& report,
                         const std::string& options) {
  const std::vector<FitTrial>& fits = report.result.fits;
  const int64_t devices = fits.front().layout.mesh.devices();
  std::string text = fmt::format("{} has the layout of the first row, on {}; it runs with {}\n",
                                 printable(arguments.file), counted(devices, "device"), options);
  const auto other = std::find_if(fits.begin(), fits.end(), [&](const FitTrial& fit) {
    return fit.layout.mesh.axes() != fits.front().layout.mesh.axes();
  });
  if (other == fits.end()) return text;
  return text +
         fmt::format(
             "to write a row of other devices instead, name their mesh: --mesh {}, without --devices\n",
             shell_word(to_string(other->layout.mesh)));
}

void write(const SearchArguments& arguments, const FitReport& report, const Model& model) {
  // If the layout goes to standard output, nothing else may.
  if (arguments.file != "-") {
    TableOptions table;
    table.width = text_width("-", table.width);
    write_text("-", arguments.format == "json"  ? fit_json(report)
                    : arguments.format == "csv" ? fit_csv(report)
                                                : fit_table(report, table));
  }
  if (arguments.file.empty() || report.result.fits.empty()) return;
  const FitTrial& first = report.result.fits.front();
  const std::string options = run_options(arguments, first, report.memory_limit);
  write_text(arguments.file,
             layout_json(first.layout,
                         fmt::format("Found by mtfc search --fit for {}: {} per device. Run it with {}",
                                     report.model, bytes_beside(first.memory, report.memory_limit), options),
                         found_for(model)));
  if (arguments.file != "-" && arguments.format == "table")
    write_text("-", written_text(arguments, report, options));
}

}  // namespace

size_t thread_count(const SearchArguments& arguments) {
  return arguments.threads > 0 ? static_cast<size_t>(arguments.threads)
                               : std::max(1U, std::thread::hardware_concurrency());
}

int run_fit(const SearchArguments& arguments) {
  const std::vector<Sources> sources = read_sources(arguments.model, meshes_to_fit(arguments));
  std::vector<Diagnostic> warnings;
  auto [model, layouts] = read_model_and_layouts(sources, arguments.model, warnings);
  share_batch(arguments, model, layouts, warnings);
  for (const Layout& layout : layouts) check_rules(layout, model.dims);
  const Hardware hardware = hardware_profile(arguments.hardware);
  if (const auto warning = unmeasured_links_warning(hardware, layouts)) warnings.push_back(*warning);
  const int64_t limit = limit_of(arguments, hardware);
  require_writable(arguments.file);
  FitsSoFar so_far(limit);
  const InterruptGuard guard(3, [&] { return so_far.text(); });
  const auto start = std::chrono::steady_clock::now();
  const FitResult result =
      found(arguments, model, layouts, hardware,
            {limit, thread_count(arguments), compile_options_of(arguments.model)}, so_far);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  for (const auto& [layout, why] : result.refused)
    warnings.push_back(plain_warning(fmt::format("{} is left out: {}", to_string(layout.mesh), why)));
  show(warnings, arguments.model.quiet);
  write(arguments, {result, model.name, hardware.name, limit, seconds.count()}, model);
  if (InterruptGuard::requested()) {
    InterruptGuard::told();
    std::cerr << fmt::format("mtfc: {}\n", interrupted_text(InterruptGuard::signal()));
    return interrupted_code(InterruptGuard::signal());
  }
  if (!result.fits.empty()) return kExitSuccess;
  if (!result.is_complete) throw RunError("stopped before anything that fits was found");
  int64_t least = INT64_MAX;
  for (const FitTrial& trial : result.smallest) least = std::min(least, trial.memory);
  const std::string larger = larger_profiles(least, limit, hardware);
  throw RunError(fmt::format(
      "nothing fits into {} per device with the batch split: use more devices, rules that split other "
      "dimensions (search without --fit tries them) or another --memory-limit{}",
      memory_text(limit), larger.empty() ? "" : "; " + larger));
}

}  // namespace mtfc
