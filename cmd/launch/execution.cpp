#include "cmd/launch/execution.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "cmd/launch/launch.h"
#include "cmd/launch/ranks.h"
#include "cmd/launch/restarts.h"
#include "cmd/options/command_line.h"
#include "cmd/options/hardware_profile.h"
#include "cmd/options/option_checks.h"
#include "cmd/terminal/interrupt.h"
#include "cmd/terminal/work_watch.h"
#include "core/cost/cost.h"
#include "formats/program/program_reader.h"
#include "formats/program/program_writer.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/comm/mpi/comm_mpi.h"
#include "runtime/compute/threads.h"
#include "runtime/processes/step_text.h"
#include "runtime/processes/unique_fd.h"

namespace mtfc {
namespace {

constexpr int64_t kMostSimulated = 65536;
constexpr int64_t kMostThreads = 1024;           // more than any node has cores for
constexpr int64_t kLongestWait = 1'000'000'000;  // seconds: some 30 years

// Returns 1 if a step is so short that more threads would gain little, and would lose much once another process wants a
// core; otherwise 0, which means the default. `devices`: how many this process has. Decoding has threads of its own.
int usual_threads(const Program& program, int64_t devices) {
  constexpr int64_t kTinyStep = 32'000'000;  // flops: less than a millisecond
  if (program.find("decode")) return 0;
  for (const char* name : {"train", "evaluate"})
    if (const EntryPoint* entry = program.find(name))
      if (kernel_work(program, *entry, kTinyStep) * devices >= kTinyStep) return 0;
  return 1;
}

// Opens the data, and shows what it does while one waits for it.
void open_data_files(const ExecutionOptions& options, const Execution& execution, const Program& program,
                     const std::string& prepared, bool talks) {
  const WorkWatch watch(std::cerr, status_place(options.model.quiet || !talks));
  execution.open(program, prepared);
}

// All devices of the mesh in this process.
int run_here(const Program& program, const ExecutionOptions& options, const Execution& execution) {
  Processes processes = Processes::alone();
  use_cores(options.threads, processes, usual_threads(program, program.mesh().devices()));
  const std::string prepared = execution.prepare();
  LockstepComm comm(program.mesh(), processes);
  open_data_files(options, execution, program, prepared, true);
  return execution.run(program, comm);
}

constexpr std::string Sources::*kSentTexts[] = {&Sources::model_text, &Sources::layout_text, &Sources::told,
                                                &Sources::hardware_text, &Sources::program_text};

// The texts that rank 0 read, as one, and back.
std::string packed(const Sources& sources) {
  std::vector<std::string> texts;
  for (const auto text : kSentTexts) texts.push_back(sources.*text);
  texts.insert(texts.end(), {sources.includes->packed(), packed_texts(sources.defaults.sets),
                             sources.defaults.dtype.value_or("")});
  return packed_texts(texts);
}

void unpack(const std::string& bytes, Sources& sources) {
  const std::vector<std::string> texts = unpacked_texts(bytes);
  size_t at = 0;
  for (const auto text : kSentTexts) sources.*text = texts[at++];
  sources.includes->unpack(texts[at++]);
  sources.defaults.sets = unpacked_texts(texts[at++]);
  if (!texts[at].empty()) sources.defaults.dtype = texts[at];
}

NodeOptions node_options(const ExecutionOptions& options) {
  NodeOptions node;
  node.ranks_per_node = options.ranks_per_node;
  if (options.shared_memory >= 0) node.shared_bytes = options.shared_memory;
  if (!options.model.quiet)
    node.warn = [](const std::string& message) { std::cerr << "mtfc: warning: " << message << "\n"; };
  return node;
}

// Compiles, and shows what it does while one waits for it.
Program compiled(const ExecutionOptions& options, const Execution& execution, const Sources& sources,
                 std::vector<Diagnostic>& warnings) {
  const WorkWatch watch(std::cerr, status_place(options.model.quiet));
  return execution.compile(sources, warnings);
}

// Reads, compiles and judges, on rank 0.
Program judged(const ExecutionOptions& options, const Execution& execution, int64_t ranks, Sources& sources) {
  std::vector<Diagnostic> warnings;
  sources = read_sources(options.model, options.layout);
  sources.defaults = execution.defaults();
  sources.told = execution.tell();
  if (!execution.hardware.empty()) sources.hardware_text = profile_text(execution.hardware);
  Program program = compiled(options, execution, sources, warnings);
  // Other ranks decide nothing: they run this program.
  if (ranks > 1 && !is_program(sources.model_text)) sources.program_text = program_json(program);
  if (program.mesh().axes().empty() && ranks > 1)
    throw UserError(fmt::format("there are {} ranks, but there is no mesh", ranks),
                    fmt::format("give --mesh, as in --mesh all:{}", ranks));
  if (program.mesh().devices() != ranks)
    throw UserError(fmt::format("the mesh {} has {} devices, but there are {} ranks",
                                to_string(program.mesh()), program.mesh().devices(), ranks),
                    fmt::format("start it with mpiexec -n {}", program.mesh().devices()));
  execution.require_ready(program);
  show(warnings, options.model.quiet);
  return program;
}

// Throws UserError for options about the start of ranks that contradict each other or a launcher.
void check_start(const ExecutionOptions& options) {
  const std::optional<LaunchedBy> by = launched_by();
  if (options.simulate && by && by->ranks > 1)
    throw UserError("--simulate runs all devices in one process", "start it without a launcher");
  const char* starts = !options.hosts.empty() ? "--hosts" : options.restarts > 0 ? "--restarts" : nullptr;
  if (!starts) return;
  if (options.simulate)
    throw UserError(fmt::format("{} starts ranks, but --simulate runs all devices in this process", starts),
                    fmt::format("leave out --simulate or {}", starts));
  require_no_launcher(starts);
}

// This rank's device of the mesh, under a launcher.
int run_ranks(const ExecutionOptions& options, const Execution& execution) {
  Program program;
  const auto body = [&](Processes& processes) {
    Sources sources{options.model.model, {}, options.layout, {}, {}};
    std::string bytes, prepared;
    agree(processes, [&] {
      if (!processes.is_root()) return;
      check_start(options);
      program = judged(options, execution, processes.size(), sources);
      prepared = execution.prepare();
      bytes = packed(sources);
    });
    processes.broadcast(bytes);
    processes.broadcast(prepared);
    if (!processes.is_root()) {
      std::vector<Diagnostic> warnings;  // rank 0 has shown them
      unpack(bytes, sources);
      program = execution.compile(sources, warnings);
    }
    processes.require_equal("program", program_json(program));
    use_cores(options.threads, processes, usual_threads(program, 1));
    agree_on_files(processes,
                   [&] { open_data_files(options, execution, program, prepared, processes.is_root()); });
    NodeMemory node(processes, node_options(options));
    MpiComm comm(program.mesh(), processes, node);
    return execution.run(program, comm);
  };
  const auto missing = [&](const WaitError& error) { return missing_text(program, error); };
  return run_on_ranks(options.watchdog, {body, missing, options.model.quiet});
}

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

// Gives the ranks what this process has read from standard input. The ranks of a restart read it again.
void offer_standard_input(const std::string& text) {
  const UniqueFd file(memfd_create("stdin", 0));
  if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      lseek(file.get(), 0, SEEK_SET) != 0 || dup2(file.get(), 0) < 0)
    throw RunError("cannot pass standard input on to the ranks");
}

}  // namespace

std::vector<std::string> own_arguments() {
  std::vector<std::string> arguments = command_line();
  arguments.erase(arguments.begin());
  return arguments;
}

std::vector<std::string> without_options(const std::vector<std::string>& arguments,
                                         const std::vector<std::string>& options) {
  std::vector<std::string> left;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto names = [&](const std::string& option) { return arguments[i] == option; };
    const auto gives = [&](const std::string& option) { return arguments[i].starts_with(option + "="); };
    if (std::any_of(options.begin(), options.end(), names))
      ++i;  // its value follows
    else if (std::none_of(options.begin(), options.end(), gives))
      left.push_back(arguments[i]);
  }
  return left;
}

void start_for_runs() {
  const bool spins = std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT");
  if (spins && std::getenv("MALLOC_CONF")) return;
  if (!spins) setenv("GOMP_SPINCOUNT", "20000", 1);
  setenv("MALLOC_CONF", "thp:default,percpu_arena:disabled", 0);
  std::vector<std::string> arguments = command_line();
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  // A signal that comes now stays pending, and reaches the program that starts.
  leave_interrupts();
  // Starts it by its real path, so that lists of processes show `mtfc`. If that file has been removed or replaced, the
  // link still starts this program.
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) execv(path.c_str(), pointers.data());
  execv("/proc/self/exe", pointers.data());
  watch_interrupts(is_terminal(2));
}

void use_cores(int wanted, const Processes& processes, int usual) {
  int count = wanted;
  if (count == 0 && std::getenv("OMP_NUM_THREADS")) count = threads();
  if (count == 0) count = usual;
  if (count == 0) count = default_threads(processes.cores_on_node(), processes.ranks_on_node());
  processes.keep_to_share(count);
  set_threads(count);
}

void require_no_launcher(const char* option) {
  const std::optional<LaunchedBy> by = launched_by();
  if (!by) return;
  const bool is_job = by->launcher == "srun" && std::string_view(option) == "--restarts";
  throw UserError(
      fmt::format("{} is for ranks that mtfc starts, but {} has started this one", option, by->launcher),
      is_job ? "mtfc slurm writes jobs that Slurm starts again" : "start mtfc without a launcher");
}

namespace {

// Starts a rank for each device, with what this process has read.
int start_ranks(const Program& program, const ExecutionOptions& options, const Execution& execution,
                const Sources& sources) {
  if (options.model.model == "-") offer_standard_input(sources.model_text);
  if (options.layout.layout == "-") offer_standard_input(sources.layout_text);
  if (execution.hardware == "-") offer_standard_input(sources.hardware_text);
  const auto require_mesh = [&](const Mesh& mesh) {
    Sources changed = sources;
    changed.flags.mesh = to_string(mesh);
    std::vector<Diagnostic> warnings;
    execution.require_ready(execution.compile(changed, warnings));
  };
  Restarts restarts{options.restarts,
                    without_options(own_arguments(), {"--hosts", "--restarts"}),
                    {},
                    program.mesh(),
                    options.model.quiet,
                    require_mesh};
  if (!options.hosts.empty()) restarts.hosts = parse_hosts(options.hosts);
  return run_with_restarts(restarts);
}

}  // namespace

void check_held_here(const Mesh& mesh, const char* by) {
  if (mesh.devices() <= kMostSimulated) return;
  throw UserError(fmt::format("{} holds all devices in one process, but the mesh {} has {} of them", by,
                              to_string(mesh), mesh.devices()),
                  fmt::format("at most {} are possible", kMostSimulated));
}

int execute(const ExecutionOptions& options, const Execution& execution) {
  if (launched_by() && !options.simulate) return run_ranks(options, execution);
  check_start(options);
  Sources sources = read_sources(options.model, options.layout);
  sources.defaults = execution.defaults();
  sources.told = execution.tell();
  if (!execution.hardware.empty()) sources.hardware_text = profile_text(execution.hardware);
  std::vector<Diagnostic> warnings;
  const Program program = compiled(options, execution, sources, warnings);
  const int64_t devices = program.mesh().devices();
  if (options.simulate) check_held_here(program.mesh(), "--simulate");
  if (options.simulate || (devices == 1 && options.hosts.empty() && options.restarts == 0)) {
    execution.require_ready(program);
    show(warnings, options.model.quiet);
    return run_here(program, options, execution);
  }
  return start_ranks(program, options, execution, sources);
}

void add_hosts_option(CommandLine& line, std::string& hosts) {
  line.set_group(OptionGroup::kRanks);
  line.add_option("--hosts HOSTS", hosts,
                  "start the ranks on these hosts: names, as in a,b, or names and the most ranks of each, as "
                  "in a:2,b:2; MPICH's launcher reaches them, by ssh if HYDRA_LAUNCHER does not say "
                  "otherwise (default: HYDRA_HOST_FILE, the nodes of a batch job, else this host)")
      .check(list_of_hosts());
}

void add_execution_options(CommandLine& line, ExecutionOptions& options) {
  line.set_group(OptionGroup::kRanks);
  line.add_flag("--simulate", options.simulate, "run all devices of the mesh in this process, without MPI");
  line.add_option(
          "--threads T", options.threads,
          "threads per rank (default: OMP_NUM_THREADS, else 1 for steps of less than a millisecond, else "
          "cores / ranks on the node)")
      .check(whole_number(1, kMostThreads));
  line.add_option(
          "--watchdog S", options.watchdog,
          "end the run if a rank waits longer than S seconds for others, and say which ranks these are")
      .check(whole_number(1, kLongestWait))
      .show_default();
  add_hosts_option(line, options.hosts);
  line.add_option("--ranks-per-node N", options.ranks_per_node,
                  "treat every N ranks as a node, to try out several nodes on one machine")
      .check(whole_number(1, kMostThreads));
  line.add_option("--shared-memory BYTES", options.shared_memory,
                  "the maximum number of bytes of /dev/shm that the ranks of a node may share; with 0, they "
                  "only send messages")
      .check(whole_number(0));
}

}  // namespace mtfc
