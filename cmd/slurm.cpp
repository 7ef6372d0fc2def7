#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "cmd/batch/batch_file.h"
#include "cmd/batch/time_limit.h"
#include "cmd/command.h"
#include "cmd/files/files.h"
#include "cmd/launch/launch.h"
#include "cmd/options/file_endings.h"
#include "cmd/options/hardware_profile.h"
#include "cmd/options/option_checks.h"
#include "cmd/running/checkpoints.h"
#include "cmd/running/run_command_line.h"
#include "cmd/running/run_data.h"
#include "cmd/running/run_header.h"
#include "cmd/running/run_preparation.h"
#include "cmd/terminal/work_watch.h"
#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

constexpr int64_t kMostNodes = 1'000'000;
constexpr int64_t kMostCores = 1024;      // per rank
constexpr int64_t kMostSeconds = 86'400;  // of warning before the time limit

// Options that are not passed on to `run`.
const std::vector<std::string> kOwnOptions = {"--nodes",   "--cpus-per-task", "--time",        "--partition",
                                              "--account", "--job-name",      "--stop-before", "--setup",
                                              "-o",        "--no-color"};

struct Options {
  RunOptions run;
  BatchJob job;
  std::string file = "-";
  bool threads_given = false;
  bool grace_given = false;
};

// Slurm's options end at a blank.
ValueCheck name_of_slurm() {
  return {[](const std::string& text) -> std::string {
    const bool is_name = !text.empty() && job_name(text) == text;
    return is_name ? "" : fmt::format("expected letters, digits and ._+-, found '{}'", text);
  }};
}

// Replaces a time such as 2h30m by what sbatch takes. Returns "" or what is wrong with it.
std::string read_time(std::string& text) {
  const std::optional<std::string> time = slurm_time(text);
  if (!time)
    return fmt::format(
        "expected a time such as 90 (minutes), 2h30m, 12:00:00 or 2-12:00:00 (days first), found '{}'", text);
  text = *time;
  return "";
}

// A job has no standard input, and runs again and again from a checkpoint.
void check_job(const Options& options) {
  const RunOptions& run = options.run;
  check(run);
  if (run.model.model == "-" || run.layout.layout == "-" || run.hardware == "-")
    throw UserError("a job can't read standard input", "name a file instead of -");
  if (run.simulate)
    throw UserError("--simulate runs all devices in one process, but a job has a rank for each",
                    "leave out --simulate");
  if (run.evaluate)
    throw UserError("mtfc slurm writes jobs that train, but --evaluate trains nothing",
                    "leave out --evaluate");
  if (run.checkpoint.empty())
    throw UserError("a job goes on from its last checkpoint, so it needs --checkpoint",
                    "give a folder that all nodes share with --checkpoint DIR");
  const int64_t before = options.job.stop_before;
  if (!options.job.time.empty() && *seconds_of(options.job.time) <= before)
    throw UserError(fmt::format("--time {} leaves no time to the run, which stops {} s before the limit",
                                options.job.time, before),
                    "give more time, or fewer seconds with --stop-before");
  if (options.grace_given && run.grace >= before)
    throw UserError(fmt::format("--grace {} is longer than the {} s between the signal and the time limit",
                                run.grace, before),
                    "give more seconds with --stop-before");
}

// Compiles the program, and refuses whatever `run` would refuse.
Program checked_program(RunOptions& options) {
  const std::string start = checkpoint_start(options.checkpoint, options.resume);
  options.resume = true;
  RunPreparation preparation(options);
  Sources sources = read_sources(options.model, options.layout);
  sources.defaults = preparation.defaults();
  if (!options.hardware.empty()) sources.hardware_text = profile_text(options.hardware);
  std::vector<Diagnostic> warnings;
  std::optional<WorkWatch> watch;
  watch.emplace(std::cerr, status_place(options.model.quiet));
  Program program = preparation.compile(sources, warnings);
  watch.reset();
  preparation.require_ready(program);
  show(warnings, options.model.quiet);
  const RunData data = open_data(program, options, start);
  const EntryPoint& entry = main_entry(program, options.evaluate);
  if (!options.model.quiet)
    std::cerr << data_line(entry, data.inputs, options.inputs, data.filled)
              << random_data_warning(entry, data.inputs, options.inputs);
  return program;
}

// `give --nodes 2 or 4`: the nearest numbers of nodes by which the devices can be divided.
std::string divisors_text(int64_t devices, int64_t nodes) {
  int64_t below = std::min(nodes, devices), above = nodes;
  while (devices % below != 0) --below;
  while (above < devices && devices % above != 0) ++above;
  return above > devices || above == nodes ? fmt::format("give --nodes {}", below)
                                           : fmt::format("give --nodes {} or {}", below, above);
}

int64_t ranks_per_node(const Program& program, int64_t nodes) {
  const int64_t devices = program.mesh().devices();
  if (devices % nodes == 0) return devices / nodes;
  const std::string mesh = program.mesh().axes().empty() ? "there is no mesh, so there is 1 device"
                                                         : fmt::format("the mesh {} has {} devices",
                                                                       to_string(program.mesh()), devices);
  throw UserError(fmt::format("{}, which can't be divided among {} nodes", mesh, nodes),
                  divisors_text(devices, nodes));
}

// The words of `mtfc run`, with those options that the job needs and the user has not given.
std::vector<std::string> run_words(const Options& options, std::vector<std::string> given, bool resumes) {
  given.insert(given.begin(), "run");
  if (!resumes) given.emplace_back("--resume");
  const auto add = [&](const char* option, int64_t value) {
    given.emplace_back(option);
    given.push_back(std::to_string(value));
  };
  // One half of the time for the end of the step, the other to write the checkpoint.
  if (!options.grace_given) add("--grace", std::max<int64_t>(options.job.stop_before / 2, 1));
  // Results are the same bits only with the same number of threads, whatever the nodes have.
  if (!options.threads_given && options.job.cores_per_rank > 0) add("--threads", options.job.cores_per_rank);
  return given;
}

int write_job(Options& options, const std::vector<std::string>& given) {
  require_ending("-o", "a batch file", options.file, {"sh", "bash", "sbatch", "slurm", "job"});
  check_job(options);
  const bool resumes = options.run.resume;
  const Program program = checked_program(options.run);
  options.job.ranks_per_node = ranks_per_node(program, options.job.nodes);
  if (options.job.name.empty()) options.job.name = job_name(program.model);
  if (!options.run.steps_given && !options.run.model.quiet)
    std::cerr << "mtfc: warning: without --steps N, the job makes one step\n";
  if (options.run.every == 0 && !options.run.model.quiet)
    std::cerr << "mtfc: warning: without --every N, a job that loses a node begins anew at the last "
                 "checkpoint that a signal has made it save\n";
  const BatchRun run{own_path(), std::filesystem::current_path().string(), options.run.checkpoint,
                     run_words(options, given, resumes)};
  write_text(options.file, batch_text(options.job, run));
  tell_written(options.file, options.run.model.quiet);
  return kExitSuccess;
}

void add_job_options(CommandLine& line, Options& options) {
  BatchJob& job = options.job;
  line.set_group(OptionGroup::kJob);
  line.add_option("--nodes N", job.nodes,
                  "the number of nodes, which divide the devices of the mesh among themselves")
      .check(whole_number(1, kMostNodes))
      .required();
  line.add_option("--cpus-per-task C", job.cores_per_rank,
                  "the cores of each rank, which then computes with as many threads")
      .check(whole_number(1, kMostCores));
  line.add_option(
          "--time TIME", job.time,
          "the time limit of the job, after which it is requeued: minutes, or as in 2h30m, 12:00:00 or "
          "2-12:00:00 (default: that of the partition)")
      .transform(read_time);
  line.add_option(
          "--stop-before S", job.stop_before,
          "save a checkpoint S seconds before the time limit, or up to a minute earlier, and requeue the job")
      .check(whole_number(1, kMostSeconds))
      .show_default();
  line.add_option("--partition NAME", job.partition, "the partition of the job").check(name_of_slurm());
  line.add_option("--account NAME", job.account, "the account of the job").check(name_of_slurm());
  line.add_option("--job-name NAME", job.name, "the name of the job (default: that of the model)")
      .check(name_of_slurm());
  line.add_option("--setup LINE", job.setup,
                  "a line of the batch file before the run, as in 'module load mpich' (repeatable)");
  for (const char* name : {"--module", "--modules"})
    line.add_hint(name, "lines before the run: --setup 'module load NAME'");
  line.set_group(OptionGroup::kOutput);
  line.add_option("-o FILE", options.file, "the file to write; - is standard output").show_default();
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<Options>();
  add_job_options(line, *options);
  add_run_options(line, options->run);
  return [options, line] {
    note_given(line, options->run);
    options->threads_given = line.option("--threads").is_given();
    options->grace_given = line.option("--grace").is_given();
    return write_job(*options, line.given(kOwnOptions));
  };
}

}  // namespace

const Command kSlurmCommand = {
    .name = "slurm",
    .summary = "write a batch file for Slurm: a training job that goes on from its last checkpoint",
    .description =
        "Takes the options of `run`, checks them, and writes a batch file. The job saves a checkpoint "
        "before its time limit and when it is preempted, is requeued, and goes on from there, with the "
        "results of a job that nobody has stopped.",
    .examples =
        "  mtfc slurm model.json --nodes 4 --mesh all:16 --layout batch:all --steps 10000 --checkpoint ck "
        "--every 500 > job.sh\n"
        "  mtfc slurm model.json --nodes 2 --cpus-per-task 8 --time 12h --partition cpu --setup 'module load "
        "mpich' --mesh rows:2,cols:2 --layout layout.json --steps 10000 --checkpoint ck --every 500 --keep 3 "
        "-o job.sh\n"
        "  sbatch job.sh\n"
        "  sbatch --exclusive --mem=0 job.sh",
    .setup = setup,
};

}  // namespace mtfc
