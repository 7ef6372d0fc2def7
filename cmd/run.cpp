#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>

#include "cmd/checkpoints.h"
#include "cmd/command.h"
#include "cmd/files.h"
#include "cmd/input_data.h"
#include "cmd/launch.h"
#include "cmd/option_checks.h"
#include "cmd/run_data.h"
#include "cmd/run_files.h"
#include "cmd/run_options.h"
#include "cmd/training.h"
#include "formats/program_writer.h"
#include "runtime/comm_lockstep.h"
#include "runtime/comm_mpi.h"
#include "runtime/step_text.h"
#include "runtime/threads.h"
#include "runtime/watchdog.h"

namespace mtfc {

namespace {

constexpr int64_t kMostSimulated = 65536;
constexpr int64_t kMostThreads = 1024;           // more than any node has cores for
constexpr int64_t kLongestWait = 1'000'000'000;  // seconds: some 30 years
constexpr int64_t kMostTraced = 1'000'000;

// A saved program as it is, or a model compiled for the layout.
Program program_of(const Sources& sources, const RunOptions& options, std::vector<Diagnostic>& warnings) {
  CompileOptions compile_options;
  compile_options.allow_uneven = !options.model.no_uneven;
  for (const std::string& output : options.outputs)
    compile_options.keep.push_back(split_assignment(output, "--output").first);
  return make_program(sources, options.model, compile_options, warnings);
}

// --threads, else what OMP_NUM_THREADS has set, else the node's cores divided by its ranks.
void use_threads(const RunOptions& options, const Processes& processes) {
  int count = options.threads;
  if (count == 0 && std::getenv("OMP_NUM_THREADS")) count = threads();
  set_threads(count > 0 ? count : default_threads(processes.cores_on_node(), processes.ranks_on_node()));
}

// Takes the folder of checkpoints where the options name one, and says where the run begins: at a checkpoint,
// or
// "" for the beginning.
std::string take_folder(const RunOptions& options, std::optional<CheckpointFolder>& folder) {
  if (options.checkpoint.empty()) return "";
  folder.emplace(options.checkpoint);
  const std::string start = folder->start(options.resume);
  if (options.resume && !options.model.quiet)
    std::cerr << (start.empty()
                      ? fmt::format("no checkpoint in '{}' yet: the run starts from the beginning\n",
                                    options.checkpoint)
                      : fmt::format("going on from '{}'\n", start));
  return start;
}

// All devices of the mesh in this process.
int run_here(const Program& program, const RunOptions& options) {
  Processes processes = Processes::alone();
  use_threads(options, processes);
  std::optional<CheckpointFolder> folder;
  const std::string start = take_folder(options, folder);
  LockstepComm comm(program.mesh(), processes);
  run_program(program, options, open_data(program, options, start), comm);
  return kExitSuccess;
}

// The strings that rank 0 read, as one, and back.
std::string packed(const Sources& sources) {
  std::string bytes;
  const std::string includes = sources.includes->packed();
  for (const std::string* part : {&sources.model_text, &sources.layout_text, &includes})
    bytes += std::to_string(part->size()) + ":" + *part;
  return bytes;
}

void unpack(const std::string& bytes, Sources& sources) {
  size_t at = 0;
  std::string includes;
  for (std::string* part : {&sources.model_text, &sources.layout_text, &includes}) {
    const size_t colon = bytes.find(':', at);
    const size_t size = std::stoull(bytes.substr(at, colon - at));
    *part = bytes.substr(colon + 1, size);
    at = colon + 1 + size;
  }
  sources.includes->unpack(includes);
}

// Runs `work` on this rank and agrees with the others on how it went: the gravest exit code of any. Where
// there is an error, the first rank that has it speaks.
template <typename Work>
int agreed(Processes& processes, Work work) {
  int code = kExitSuccess;
  std::exception_ptr error;
  try {
    work();
  } catch (const UserError&) {
    code = kExitUserError;
    error = std::current_exception();
  } catch (const RunError&) {
    code = kExitRunFailed;
    error = std::current_exception();
  }
  const auto gravest = static_cast<int>(processes.maximum(code));
  if (gravest == kExitSuccess) return gravest;
  const int64_t first_with_it = -processes.maximum(code == gravest ? -processes.rank() : -processes.size());
  if (error && first_with_it == processes.rank()) {
    processes.finish();
    std::rethrow_exception(error);
  }
  return gravest;
}

NodeOptions node_options(const RunOptions& options) {
  NodeOptions node;
  node.ranks_per_node = options.ranks_per_node;
  if (options.shared_memory >= 0) node.shared_bytes = options.shared_memory;
  if (!options.model.quiet)
    node.warn = [](const std::string& message) { std::cerr << "mtfc: warning: " << message << "\n"; };
  return node;
}

// This rank's device of the mesh, under a launcher.
int run_ranks(const RunOptions& options) {
  Watchdog::of_process().set_limit(options.watchdog);
  Processes processes = Processes::start();
  check_launcher(processes.size());
  Sources sources{options.model.model, {}, options.layout, {}};
  Program program;
  std::vector<Diagnostic> warnings;
  // Rank 0 reads and judges for all.
  std::optional<CheckpointFolder> folder;
  std::string bytes, start;
  int code = agreed(processes, [&] {
    if (!processes.speaks()) return;
    sources = read_sources(options.model, options.layout);
    program = program_of(sources, options, warnings);
    if (program.mesh().axes().empty() && processes.size() > 1)
      throw UserError(fmt::format("there is no mesh, but {} ranks", processes.size()),
                      fmt::format("give --mesh, as in --mesh all:{}", processes.size()));
    if (program.mesh().devices() != processes.size())
      throw UserError(fmt::format("the mesh {} has {} devices, and there are {} ranks",
                                  to_string(program.mesh()), program.mesh().devices(), processes.size()),
                      fmt::format("start it with mpiexec -n {}", program.mesh().devices()));
    require_writable_files(options);
    show(warnings, options.model.quiet);
    start = take_folder(options, folder);
    bytes = packed(sources);
  });
  if (code != kExitSuccess) return code;
  processes.broadcast(bytes);
  processes.broadcast(start);
  unpack(bytes, sources);
  if (!processes.speaks()) program = program_of(sources, options, warnings);
  processes.require_equal("program", program_json(program));
  use_threads(options, processes);
  RunData data;
  code = agreed(processes, [&] { data = open_data(program, options, start); });
  if (code != kExitSuccess) return code;
  try {
    NodeMemory node(processes, node_options(options));
    MpiComm comm(program.mesh(), processes, node);
    run_program(program, options, std::move(data), comm);
  } catch (const std::exception& error) {
    // The others may be waiting for this rank, so all must end. Where all fail alike, rank 0 gets to say so
    // first.
    if (!processes.speaks()) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const auto* wait = dynamic_cast<const WaitError*>(&error);
    if (!dynamic_cast<const AgreedError*>(&error))
      std::cerr << fmt::format("mtfc: error: rank {}: {}\n", processes.rank(),
                               wait ? missing_text(program, *wait) : error.what())
                << std::flush;
    else if (processes.speaks())
      std::cerr << fmt::format("mtfc: error: {}\n", error.what()) << std::flush;
    const bool user = dynamic_cast<const UserError*>(&error) != nullptr;
    const bool run = dynamic_cast<const RunError*>(&error) || dynamic_cast<const std::bad_alloc*>(&error);
    processes.abort(user ? kExitUserError : run ? kExitRunFailed : kExitInternalError);
  }
  return kExitSuccess;
}

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

// Between parallel loops, OpenMP's threads spin. Without end, each loop costs a time slice wherever another
// process wants the core; so they spin for some 50 microseconds and then sleep. The library reads this before
// main(), which is why the program starts itself anew. Where that fails, it only runs slower on a busy
// machine.
void limit_spinning() {
  if (std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT")) return;
  setenv("GOMP_SPINCOUNT", "20000", 1);
  std::vector<std::string> arguments = own_arguments();
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv("/proc/self/exe", pointers.data());
}

// Gives the ranks what this process has read from standard input.
void offer_standard_input(const std::string& text) {
  const int file = memfd_create("stdin", 0);
  if (file < 0 || write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      lseek(file, 0, SEEK_SET) != 0 || dup2(file, 0) < 0)
    throw RunError("cannot pass standard input on to the ranks");
  close(file);
}

int run(const RunOptions& options) {
  limit_spinning();
  check(options);
  if (options.simulate && launched_by() && launched_by()->ranks > 1)
    throw UserError("--simulate runs all devices in one process", "start it without a launcher");
  if (launched_by() && !options.simulate) return run_ranks(options);
  const Sources sources = read_sources(options.model, options.layout);
  std::vector<Diagnostic> warnings;
  const Program program = program_of(sources, options, warnings);
  const int64_t devices = program.mesh().devices();
  if (options.simulate && devices > kMostSimulated)
    throw UserError(fmt::format("--simulate holds every device in one process, and the mesh {} has {}",
                                to_string(program.mesh()), devices),
                    fmt::format("it can be {} at most", kMostSimulated));
  if (options.simulate || devices == 1) {
    require_writable_files(options);
    show(warnings, options.model.quiet);
    return run_here(program, options);
  }
  if (options.model.model == "-") offer_standard_input(sources.model_text);
  if (options.layout.layout == "-") offer_standard_input(sources.layout_text);
  std::vector<std::string> arguments = own_arguments();
  arguments.erase(arguments.begin());
  return launch_ranks(arguments, devices);
}

void add_run_options(CLI::App& app, RunOptions& options) {
  const auto one_each = [](CLI::Option* option, const char* type) {
    option->allow_extra_args(false)->type_name(type);
  };
  app.add_option("--steps", options.steps,
                 "training steps, or forward evaluations where the model does not train; with --resume those "
                 "done before count")
      ->check(whole_number(0))
      ->capture_default_str();
  app.add_flag("--evaluate", options.evaluate,
               "forward only, over the whole of a finite source; means of the outputs");
  app.add_flag("--simulate", options.simulate, "all devices of the mesh in this process, without MPI");
  one_each(
      app.add_option(
          "--input", options.inputs,
          "data for an input: FILE.npy, idx:FILE[.gz], text:FILE, tokens:FILE[,width=2|4], "
          "random:normal, random:uniform, random:int,lo=A,hi=B; then ,rows=A:B, ,scale=X and, for "
          "text and tokens, ,shift=N and ,split=train|valid; or present: which rows of a batch there are, "
          "with which an evaluation fills up the last"),
      "NAME=SPEC");
  one_each(app.add_option("--valid", options.valid, "evaluate over this source too"), "NAME=SPEC");
  app.add_option("--valid-every", options.valid_every, "evaluate --valid every N steps, not only at the end")
      ->check(whole_number(1))
      ->type_name("N");
  app.add_option("--seed", options.seed, "of initial values, the order of data and random operations")
      ->check(whole_number(0))
      ->capture_default_str();
  one_each(app.add_option(
               "--load", options.loads,
               "values instead of initial ones: for all variables from a .safetensors file or a folder of "
               "checkpoints (the last), or for one as NAME=FILE.npy"),
           "FILE");
  one_each(
      app.add_option("--map", options.maps,
                     "names of a loaded file's tensors in the model, each * any characters but . and /; an "
                     "empty TO leaves a tensor out; FILE: lines of the same"),
      "FROM=TO");
  app.add_option("--checkpoint", options.checkpoint,
                 "save all variables in this folder after the last step and when the run is interrupted")
      ->type_name("DIR");
  app.add_option("--every", options.every, "save after every N steps too")
      ->check(whole_number(1))
      ->type_name("N");
  app.add_option("--keep", options.keep, "keep only the last K checkpoints")
      ->check(whole_number(1))
      ->type_name("K");
  app.add_flag(
      "--resume", options.resume,
      "go on from the last checkpoint in the folder, on any mesh and layout; from the beginning where "
      "there is none");
  one_each(
      app.add_option("--output", options.outputs, "write a tensor after the last step; - is standard output"),
      "NAME=FILE.npy");
  app.add_option("--metrics", options.metrics,
                 "a line of JSON per step: outputs, time, samples per second; - is standard output")
      ->type_name("FILE.jsonl");
  app.add_option(
         "--report", options.report,
         "counted flops, collectives and memory beside the predicted ones, and the time per step; - is "
         "standard output")
      ->type_name("FILE.json");
  app.add_option("--trace", options.trace,
                 "timeline of all ranks, for Perfetto or Chrome; - is standard output")
      ->type_name("FILE.json");
  app.add_option("--trace-steps", options.trace_steps,
                 "how many of the last training steps, and of the last evaluations, --trace keeps")
      ->check(whole_number(1, kMostTraced))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--threads", options.threads,
                 "threads per rank (default: OMP_NUM_THREADS, else cores / ranks on the node)")
      ->check(whole_number(1, kMostThreads))
      ->type_name("T");
  app.add_option("--watchdog", options.watchdog,
                 "end the run when a rank waits longer than S seconds for others, and name those")
      ->check(whole_number(1, kLongestWait))
      ->type_name("S")
      ->capture_default_str();
  app.add_option("--ranks-per-node", options.ranks_per_node,
                 "pretend that nodes have so many ranks each, to try what happens between nodes on one")
      ->check(whole_number(1, kMostThreads))
      ->type_name("N");
  app.add_option("--shared-memory", options.shared_memory,
                 "the most bytes of /dev/shm that the ranks of a node may share; 0: they send messages only")
      ->check(whole_number(0))
      ->type_name("BYTES");
  app.add_flag("--check-finite", options.check_finite,
               "stop at the first NaN or infinity and name the operation");
}

std::function<int()> setup(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  add_model_options(app, options->model, true);
  add_layout_options(app, options->layout);
  add_run_options(app, *options);
  return [options, steps = app.get_option("--steps"), seed = app.get_option("--seed")] {
    options->steps_given = steps->count() > 0;
    options->seed_given = seed->count() > 0;
    return run(*options);
  };
}

}  // namespace

const Command kRunCommand = {
    .name = "run",
    .summary = "execute a model, alone or under mpiexec",
    .examples =
        "  mtfc run model.json --steps 100\n"
        "  mtfc run model.json --mesh all:4 --layout batch:all --steps 100 --metrics log.jsonl\n"
        "  mtfc run model.json --mesh rows:8,cols:8 --layout layout.json --simulate\n"
        "  mtfc run mnist.json --input images=idx:t10k-images-idx3-ubyte.gz,rows=0:9000,scale=1/255 \\\n"
        "      --input labels=idx:t10k-labels-idx1-ubyte.gz,rows=0:9000 --steps 900\n"
        "  mtfc run model.json --steps 1000 --checkpoint ck --every 100 --keep 3 --resume\n"
        "  mtfc run model.json --evaluate --load ck\n"
        "  mpiexec -n 4 mtfc run model.json --mesh rows:2,cols:2 --layout batch:rows,hidden:cols",
    .setup = setup,
};

}  // namespace mtfc
