#pragma once
// Starting ranks, and telling how this process was started. Everything here is decided from the environment,
// before MPI is.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mtfc {

/// What the environment says about the launcher that started this process.
struct LaunchedBy {
  std::string variable;  // that says so
  std::string launcher;  // for messages: `mpiexec of Open MPI`
  int64_t ranks = 1;     // how many there are; 0: it doesn't say
};

/// Nothing where this process was started by itself, which includes the script of a Slurm job.
std::optional<LaunchedBy> launched_by();

/// Throws UserError where MPI sees this rank alone and the environment says that there are several: the
/// launcher belongs to another MPI.
void check_launcher(int64_t size_seen_by_mpi);

/// Runs this program with `args` (without its own name) as `ranks` ranks under MPICH's mpiexec, passes on
/// their output, signals and the terminal, and returns the exit code they agreed on; 1 where a rank was
/// killed, which is then reported on standard error. Throws RunError where there is no such launcher, and
/// where what the ranks print can't be passed on.
int launch_ranks(const std::vector<std::string>& args, int64_t ranks);

/// Whether the stream (1 or 2) ends at a terminal, also when a launcher is in between; and the terminal's
/// width.
bool is_terminal(int stream);
int terminal_width();

}  // namespace mtfc
