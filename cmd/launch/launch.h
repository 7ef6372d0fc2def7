#pragma once
// Starts ranks, and tells how this process was started. Everything here is decided from the environment,
// before MPI is initialized.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/launch/host_list.h"
#include "cmd/terminal/status_line.h"

namespace mtfc {

/// The launcher that started this process, according to the environment.
struct LaunchedBy {
  std::string variable;  // the variable that says so
  std::string launcher;  // for messages: `mpiexec of Open MPI`
  int64_t ranks = 1;     // number of ranks; 0: unknown
};

/// The path of this program's file. Throws RunError if it can't be found.
std::string own_path();

/// Returns nullopt if no launcher started this process, as none starts the script of a Slurm job or its interactive
/// shell.
std::optional<LaunchedBy> launched_by();

/// Throws UserError if MPI sees this rank alone but the environment says that there are several: the launcher
/// belongs to another MPI.
void check_launcher(int64_t size_seen_by_mpi);

/// The path of MPICH's mpiexec. Throws RunError if it is not installed.
std::string find_launcher();

/// Ranks of this program to start.
struct Launch {
  std::vector<std::string> arguments;  // without the program's own name
  int64_t ranks = 1;
  std::vector<Host> hosts = {};  // with the number of ranks on each; empty: as the launcher decides
  bool quiet = false;            // no warning of many ranks for the cores of this host
};

/// Starts the ranks under MPICH's mpiexec, relays their output, signals and the terminal, and returns the exit code
/// they agreed on; 1 if a rank was killed, which is then reported on standard error. Throws RunError if there is no
/// such launcher, or if the ranks' output can't be relayed, and UserError for more ranks than this host can sensibly
/// start. From the first call on, signals stay blocked, and reach the next one.
int launch_ranks(const Launch& launch);
/// Between calls of launch_ranks: the signal that asks this command to end, or 0.
int pending_interrupt();
/// Says that a signal has ended this command, and returns its exit code.
int end_interrupted(int signal);

/// is_terminal returns whether the stream (1 or 2) ends at a terminal, even with a launcher in between;
/// terminal_width returns that terminal's width.
bool is_terminal(int stream);
int terminal_width();
/// Says that a command has written `file`, where a person watches: on standard error if that is a terminal, unless
/// `quiet`.
void tell_written(const std::string& file, bool quiet);
/// Returns where the status line of a command goes: to a terminal or a file on standard error, or nowhere if `quiet`,
/// or if MTFC_PROGRESS is 0 and it would be a file.
StatusLine::Place status_place(bool quiet);
/// The longest line of a text that goes to `file`: on standard output (`-`) as long as its terminal is wide, or else as
/// the variable COLUMNS says; otherwise `usual`.
size_t text_width(const std::string& file, size_t usual);

}  // namespace mtfc
