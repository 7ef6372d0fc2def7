#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include "cmd/command.h"
#include "cmd/files/files.h"
#include "cmd/launch/execution.h"
#include "cmd/launch/launch.h"
#include "cmd/launch/ranks.h"
#include "cmd/launch/restarts.h"
#include "cmd/options/command_line.h"
#include "cmd/options/file_endings.h"
#include "cmd/options/model_options.h"
#include "cmd/options/option_checks.h"
#include "cmd/terminal/interrupt.h"
#include "cmd/terminal/status_line.h"
#include "core/diagnostics/error.h"
#include "formats/hardware/hardware_reader.h"
#include "formats/layout/layout_reader.h"
#include "runtime/calibrate/calibration.h"

namespace mtfc {
namespace {

struct Options {
  std::string file = "-";
  std::optional<std::string> mesh;
  std::string hosts;  // as for --hosts
  std::string name = "calibrated";
  int threads = 0;
  bool quick = false, quiet = false;
};

// The mesh of all ranks; without --mesh one axis.
Mesh mesh_of(const Options& options, int64_t ranks) {
  if (!options.mesh) return ranks > 1 ? Mesh({{"all", ranks}}) : Mesh();
  const Mesh mesh = parse_mesh(*options.mesh);
  if (ranks > 0 && mesh.devices() != ranks)
    throw UserError(fmt::format("the mesh {} has {} devices, but there are {} ranks", to_string(mesh),
                                mesh.devices(), ranks),
                    fmt::format("start it with mpiexec -n {}", mesh.devices()));
  return mesh;
}

std::string quality_text(const Calibration& made) {
  std::string text = fmt::format("measured in {:.0f} s; prediction error on held-out sizes:\n", made.seconds);
  text += fmt::format("  {:<32} {:>6} {:>12} {:>13}\n", "", "sizes", "mean error", "worst error");
  for (const FitQuality& fit : made.fits)
    text += fmt::format("  {:<32} {:>6} {:>10.1f} % {:>11.1f} %\n", fit.what, fit.measured,
                        100 * fit.mean_error, 100 * fit.worst_error);
  return text;
}

// Tells what a single rank cannot measure.
std::string links_warning(const Options& options) {
  return fmt::format(
      "mtfc: warning: one rank cannot measure the links between ranks, so use this profile for one device "
      "only (for several, measure on their mesh, as in mtfc calibrate --mesh all:2 -o {})\n",
      options.file == "-" ? "FILE.json" : options.file);
}

// On one rank of several, or alone.
void measure(const Options& options, Processes& processes) {
  use_cores(options.threads, processes);
  const Mesh mesh = mesh_of(options, processes.size());
  const bool talks = processes.is_root() && !options.quiet;
  CalibrationOptions calibration;
  calibration.name = options.name;
  calibration.quick = options.quick;
  StatusLine status(std::cerr, status_place(!talks));
  calibration.begins = [&](const std::string& what) {
    if (!InterruptGuard::requested()) status.show("measuring " + what);
  };
  std::unique_ptr<NodeMemory> node;
  if (processes.uses_mpi()) node = std::make_unique<NodeMemory>(processes);
  Calibration made = calibrate(mesh, processes, node.get(), calibration);
  status.clear();
  if (talks) std::cerr << quality_text(made);
  const std::string poor = poor_fits_text(made.fits);
  if (!poor.empty()) {
    made.hardware.doc += " Its predictions missed the measurements: " + poor + ".";
    if (talks)
      std::cerr << fmt::format(
          "mtfc: warning: the profile misses its own measurements ({}), as on a busy machine; "
          "measure again when it is idle{}; the profile's \"doc\" says so too\n",
          poor, options.quick ? " and without --quick" : "");
  }
  if (talks && processes.size() == 1) std::cerr << links_warning(options);
  if (processes.is_root()) write_text(options.file, hardware_json(made.hardware));
}

int run_ranks(const Options& options) {
  const auto body = [&](Processes& processes) {
    agree(processes, [&] {
      if (!options.hosts.empty()) require_no_launcher("--hosts");
      mesh_of(options, processes.size());
      if (processes.is_root()) require_writable(options.file);
    });
    measure(options, processes);
    return kExitSuccess;
  };
  return run_on_ranks(Watchdog::kUsualLimit, {body});
}

// Without --mesh, as many ranks as the hosts have room for, or one on each.
int start_on_hosts(const Options& options) {
  Restarts start;
  start.hosts = parse_hosts(options.hosts);
  const int64_t ranks = std::max(room(start.hosts), static_cast<int64_t>(start.hosts.size()));
  start.mesh = mesh_of(options, options.mesh ? 0 : ranks);
  start.arguments = without_options(own_arguments(), {"--hosts"});
  start.quiet = options.quiet;
  return run_with_restarts(start);
}

int run(const Options& options) {
  start_for_runs();
  require_ending("-o", "a hardware profile", options.file, {"json"});
  if (launched_by()) return run_ranks(options);
  if (!options.hosts.empty()) return start_on_hosts(options);
  const int64_t devices = options.mesh ? mesh_of(options, 0).devices() : 1;
  require_writable(options.file);
  if (devices > 1) return launch_ranks({own_arguments(), devices, {}, options.quiet});
  Processes processes = Processes::alone();
  measure(options, processes);
  return kExitSuccess;
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<Options>();
  add_foreign_hints(line, false);
  line.add_hint("--json", "a profile is always JSON: -o FILE.json");
  line.set_hint_of_extra([](const std::string& word) {
    return word.ends_with(".json") ? "the machine is measured without a model; -o names the file to write"
                                   : "";
  });
  line.set_group(OptionGroup::kMeasurement);
  line.add_option(
      "--mesh AXIS:SIZE,...", options->mesh,
      "measure collectives over the axes of this mesh, as in rows:2,cols:4 (default: one axis over "
      "all ranks; without --hosts or a launcher, one rank)");
  line.add_flag("--quick", options->quick, "measure for only a few seconds, less accurately");
  add_hosts_option(line, options->hosts);
  line.add_option("--threads T", options->threads,
                  "threads per rank (default: OMP_NUM_THREADS, else cores / ranks on the node)")
      .check(whole_number(1, 1024));
  line.set_group(OptionGroup::kOutput);
  line.add_option("-o FILE", options->file,
                  "output file, which rank 0 writes, on its host; - is standard output")
      .show_default();
  line.add_option("--name", options->name, "name of the profile").show_default();
  line.add_flag("--quiet,-q", options->quiet, "print neither the quality of the fits nor progress");
  return [options] { return run(*options); };
}

}  // namespace

const Command kCalibrateCommand = {
    .name = "calibrate",
    .summary = "measure this machine or cluster and write a hardware profile",
    .description =
        "Measures how fast this machine computes, moves memory and communicates, and writes a hardware "
        "profile, from which cost-report and search predict times. With a --mesh of several devices, it "
        "starts a rank for each and measures the links between them too; with --hosts or under a launcher, "
        "those of a cluster. It says how far predictions are from measurements on sizes that were held out.",
    .examples =
        "  mtfc calibrate -o box.json && mtfc cost-report model.json --hardware box.json  # one device\n"
        "  mtfc calibrate --mesh rows:2,cols:2 -o box4.json\n"
        "  mtfc calibrate --hosts a:2,b:2 --mesh rows:2,cols:2 -o ab.json\n"
        "  mpiexec -n 64 mtfc calibrate --mesh rows:8,cols:8 -o cluster.json",
    .setup = setup,
};

}  // namespace mtfc
