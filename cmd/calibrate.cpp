#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

#include "cmd/command.h"
#include "cmd/files/files.h"
#include "cmd/launch/execution.h"
#include "cmd/launch/launch.h"
#include "cmd/launch/ranks.h"
#include "cmd/launch/restarts.h"
#include "cmd/options/command_line.h"
#include "cmd/options/file_endings.h"
#include "cmd/options/hardware_profile.h"
#include "cmd/options/model_options.h"
#include "cmd/options/option_checks.h"
#include "cmd/terminal/interrupt.h"
#include "cmd/terminal/status_line.h"
#include "core/diagnostics/error.h"
#include "formats/hardware/hardware_reader.h"
#include "formats/hardware/rates_reader.h"
#include "formats/layout/layout_reader.h"
#include "formats/text/quantity.h"
#include "runtime/calibrate/calibration.h"
#include "runtime/calibrate/rate_import.h"

namespace mtfc {
namespace {

struct Options {
  std::string file = "-";
  std::optional<std::string> mesh;
  std::string hosts;  // as for --hosts
  std::string name = "calibrated";
  int threads = 0;
  bool quick = false, quiet = false;
  std::vector<std::string> tables;  // to import
  std::optional<std::string> onto;  // the profile that they change
  std::vector<std::string> only;    // COLUMN=VALUE
  std::optional<int64_t> devices;   // of texts that don't say it
  bool is_named = false;            // --name is given
};

RatesOptions rates_options(const Options& options) {
  RatesOptions made;
  for (const std::string& only : options.only) {
    const size_t end = only.find('=');
    if (end == 0 || end == std::string::npos)
      throw UserError(fmt::format("--rows is '{}', but must be COLUMN=VALUE", only),
                      "as in --rows gpu=a100_sxm");
    made.only[only.substr(0, end)] = only.substr(end + 1);
  }
  made.devices = options.devices.value_or(0);
  return made;
}

std::string import_text(const std::vector<ImportQuality>& found) {
  std::string text;
  for (const ImportQuality& part : found)
    text += fmt::format("{}: {} rows in {} numbers, mean error {:.1f} %, of each tenth held out {:.1f} %\n",
                        part.what, grouped(static_cast<int64_t>(part.rows)), part.numbers,
                        100 * part.mean_error, 100 * part.held_error);
  return text;
}

// Writes a profile with the rates of the tables, and all else as in another one.
int import_tables(const Options& options) {
  if (!options.onto)
    throw UserError("tables of rates say neither the memory of a device nor its peak",
                    "--onto PROFILE takes all that they don't say from a profile");
  if (options.mesh || !options.hosts.empty() || options.quick || options.threads > 0)
    throw UserError(
        "--import measures nothing, so --mesh, --hosts, --quick and --threads have no meaning with it");
  require_writable(options.file);
  const RatesOptions reading = rates_options(options);
  MeasuredRates rates;
  for (const std::string& file : options.tables)
    read_rates(read_text(file, "a table of rates"), file, reading, rates);
  Hardware hardware = hardware_profile(*options.onto);
  const std::vector<ImportQuality> found = import_rates(rates, hardware);
  if (options.is_named) hardware.name = options.name;
  if (!options.quiet) std::cerr << import_text(found);
  write_text(options.file, hardware_json(hardware));
  return kExitSuccess;
}

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
  if (!options.tables.empty()) return import_tables(options);
  if (options.onto || !options.only.empty() || options.devices)
    throw UserError("--onto, --rows and --devices are for tables that --import reads");
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
  line.add_option(
      "--import FILE", options->tables,
      "read measured rates in place of measuring: the text of nccl-tests or of an OSU benchmark, or CSV of "
      "products, attention or collectives; may be given several times");
  line.add_option("--onto NAME|FILE.json", options->onto, "the profile that --import changes")
      .propose(bundled_profiles);
  line.add_option(
      "--rows COLUMN=VALUE", options->only,
      "of a CSV file, read the rows with this value, as in gpu=a100_sxm; may be given several times");
  line.add_option("--devices N", options->devices,
                  "the ranks of an OSU benchmark, whose text does not say it")
      .check(whole_number(2));
  line.set_group(OptionGroup::kOutput);
  line.add_option("-o FILE", options->file,
                  "output file, which rank 0 writes, on its host; - is standard output")
      .show_default();
  const Option name = line.add_option("--name", options->name, "name of the profile").show_default();
  line.add_flag("--quiet,-q", options->quiet, "print neither the quality of the fits nor progress");
  return [options, name] {
    options->is_named = name.is_given();
    return run(*options);
  };
}

}  // namespace

const Command kCalibrateCommand = {
    .name = "calibrate",
    .summary = "measure this machine or cluster and write a hardware profile",
    .description =
        "Measures how fast this machine computes, moves memory and communicates, and writes a hardware "
        "profile, from which cost-report and search predict times. With a --mesh of several devices, it "
        "starts a rank for each and measures the links between them too; with --hosts or under a launcher, "
        "those of a cluster. It says how far predictions are from measurements on sizes that were held out. "
        "With --import, it puts the measurements of others into a profile, and says the same of them.",
    .examples =
        "  mtfc calibrate -o box.json && mtfc cost-report model.json --hardware box.json  # one device\n"
        "  mtfc calibrate --mesh rows:2,cols:2 -o box4.json\n"
        "  mtfc calibrate --hosts a:2,b:2 --mesh rows:2,cols:2 -o ab.json\n"
        "  mpiexec -n 64 mtfc calibrate --mesh rows:8,cols:8 -o cluster.json\n"
        "  mtfc calibrate --import all_reduce.txt --import products.csv --onto h100 -o mine.json",
    .setup = setup,
};

}  // namespace mtfc
