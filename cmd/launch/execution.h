#pragma once
// Decides where a program is executed: all devices in this process, this rank's device under a launcher, or
// ranks that this process starts. The commands that execute programs share it.
//
//   mtfc run m.json --mesh all:4   no launcher -> compiles, starts mpiexec with 4 ranks of itself, waits
//   rank 0                         reads, compiles and judges; broadcasts the bytes it read
//   ranks 1..3                     compile the same bytes; then all open, and run

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cmd/options/model_options.h"
#include "core/diagnostics/error.h"
#include "core/program/program.h"
#include "runtime/comm/comm.h"

namespace mtfc {

class CommandLine;

struct ExecutionOptions {
  ModelOptions model;
  LayoutFlags layout;
  bool simulate = false;
  int threads = 0;             // 0: one for tiny steps, else cores / ranks on the node
  int64_t watchdog = 600;      // seconds
  int ranks_per_node = 0;      // 0: as they are
  int64_t shared_memory = -1;  // bytes of a node; negative: as much as there is
  std::string hosts;           // of the ranks, as for --hosts; "": as the launcher decides
  int64_t restarts = 0;        // after failures
};

/// Throws UserError for a mesh of more devices than one process can hold. `by`: what holds them, as it is typed.
void check_held_here(const Mesh& mesh, const char* by);

/// --simulate, --threads, --watchdog, --ranks-per-node, --shared-memory, --hosts.
void add_execution_options(CommandLine& line, ExecutionOptions& options);
/// --hosts alone, for ranks that this process starts.
void add_hosts_option(CommandLine& line, std::string& hosts);
/// Throws UserError if a launcher has started this process, although `option` is for ranks that mtfc starts.
void require_no_launcher(const char* option);

/// The functions of a command, one for each stage. All may throw UserError and RunError, on which ranks then agree.
struct Execution {
  /// Returns the defaults for options that the user did not give. Rank 0 calls it and broadcasts the answer, with which
  /// all ranks compile.
  std::function<Defaults()> defaults = [] { return Defaults(); };
  /// Returns a text with which all ranks compile, as Sources::told. Rank 0 calls it before it compiles.
  std::function<std::string()> tell = [] { return std::string(); };
  /// The profile that Sources::hardware_text is read from (cmd/options/hardware_profile.h), or "".
  std::string hardware = {};
  /// Compiles what has been read to a program, which is the same on every rank.
  std::function<Program(const Sources&, std::vector<Diagnostic>& warnings)> compile;
  /// Called once, by rank 0, after it has compiled; throws if a file can't be written, for example.
  std::function<void(const Program&)> require_ready = [](const Program&) {};
  /// Called by the same process after warnings are shown; returns the text that all ranks then get for `open`.
  std::function<std::string()> prepare = [] { return std::string(); };
  /// Opens the files that the run reads, on every rank.
  std::function<void(const Program&, const std::string& prepared)> open = [](const Program&,
                                                                             const std::string&) {};
  /// Returns the exit code, the same on every rank.
  std::function<int(const Program&, Comm&)> run;
};

/// Executes, and returns the exit code that all ranks agreed on.
int execute(const ExecutionOptions& options, const Execution& execution);

/// Sets the number of threads of this process: `wanted`, else what OMP_NUM_THREADS has set, else `usual`, or if that is
/// 0 the node's cores divided by its ranks. It also keeps the rank on its share of the cores, see
/// Processes::keep_to_share().
void use_cores(int wanted, const Processes& processes, int usual = 0);

/// The command line that this process was started with, without its own name.
std::vector<std::string> own_arguments();
/// `arguments` without these options, each of which has a value.
std::vector<std::string> without_options(const std::vector<std::string>& arguments,
                                         const std::vector<std::string>& options);

/// Starts the program anew, unless that has been done, with what libraries read before main(). Where that fails, it
/// only takes more memory, and runs slower on a busy machine.
///
/// Between parallel loops, OpenMP's threads spin. Without end, each loop costs a time slice wherever another process
/// wants the core; so they spin for some 50 microseconds and then sleep. The heap has no huge pages, which pay for the
/// graphs of large compilations, but make each rank hold some 30 MB more (cmd/main.cpp).
void start_for_runs();

}  // namespace mtfc
